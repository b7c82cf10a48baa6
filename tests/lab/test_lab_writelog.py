"""What a disk without power holds, by the log of its writes."""

from pathlib import Path

import pytest

from lab.writelog import DISCARD, FLUSH, MAGIC, SECTOR, Log, Moment, flushed

Item = tuple[int, bytes, int]
"""Sector, bytes, flags."""


def write(sector: int, letter: str, sectors: int = 1) -> Item:
    """A write of so many sectors of one letter."""
    return sector, letter.encode() * SECTOR * sectors, 0


FLUSHED: Item = (0, b"", FLUSH)


def log(path: Path, *items: Item, torn: bool = False) -> Log:
    """A log as QEMU writes it; `torn` leaves out the head of an entry before its last one."""
    data = MAGIC.to_bytes(8, "little").ljust(SECTOR, b"\0")
    for number, (sector, body, flags) in enumerate(items):
        count = len(body) // SECTOR or (8 if flags & DISCARD else 0)
        head = b"".join(value.to_bytes(8, "little") for value in (sector, count, flags, 0))
        if torn and number == len(items) - 2:
            head = b""
        data += head.ljust(SECTOR, b"\0") + body
    with path.open("wb") as file:
        file.write(data)
        file.truncate(len(data) + 1_000_000)
    return Log(path)


def moment(tmp_path: Path, found: Log, count: int | None = None) -> Moment:
    """The disk began as eight sectors of dots."""
    base = tmp_path / "base"
    base.write_bytes(b"." * SECTOR * 8)
    every = found.look()
    return Moment(base, found.path, tuple(found.entries[: every if count is None else count]))


def letters(tmp_path: Path, found: Moment, seed: int = 0) -> str:
    """One letter a sector."""
    found.write(tmp_path / "cut", seed)
    data = (tmp_path / "cut").read_bytes()
    return "".join(chr(data[at]) for at in range(0, len(data), SECTOR))


def test_what_was_flushed_is_there(tmp_path: Path) -> None:
    """In the order of its writing, whatever the seed."""
    items = (write(0, "a", 2), write(1, "b"), FLUSHED)
    found = moment(tmp_path, log(tmp_path / "log", *items))
    assert {letters(tmp_path, found, seed) for seed in range(20)} == {"ab......"}


def test_what_was_not_flushed_may_be_there_or_not_or_torn(tmp_path: Path) -> None:
    """And the seed alone decides."""
    found = moment(tmp_path, log(tmp_path / "log", write(0, "a"), FLUSHED, write(2, "b", 3)))
    seen = {letters(tmp_path, found, seed) for seed in range(60)}
    assert {"a.bbb...", "a......."} < seen
    assert seen <= {"a.bbb...", "a.bb....", "a.b.....", "a......."}
    assert letters(tmp_path, found, 3) == letters(tmp_path, found, 3)


def test_later_entries_belong_to_later_instants(tmp_path: Path) -> None:
    """A moment knows nothing of what came after it, flushes included."""
    whole = log(tmp_path / "log", write(0, "a"), FLUSHED, write(0, "b"), FLUSHED)
    assert letters(tmp_path, moment(tmp_path, whole, 2)) == "a......."
    assert letters(tmp_path, moment(tmp_path, whole, 4)) == "b......."
    assert [flushed(whole.entries[:n]) for n in range(5)] == [0, 0, 2, 2, 4]


def test_a_discard_carries_no_bytes(tmp_path: Path) -> None:
    """What follows it in the log is the next entry."""
    found = log(tmp_path / "log", (0, b"", DISCARD), write(5, "c"), FLUSHED)
    assert letters(tmp_path, moment(tmp_path, found)) == ".....c.."


def test_a_log_is_read_on(tmp_path: Path) -> None:
    """As far as it is written; a gap in it is a write that is under way."""
    found = log(tmp_path / "log", write(0, "a"), FLUSHED)
    assert (found.look(), found.look(), found.is_whole) == (2, 2, True)
    torn = log(tmp_path / "torn", write(0, "a"), write(1, "b", 16), write(2, "c", 16), torn=True)
    assert (torn.look(), torn.is_whole) == (1, False)


def test_a_file_that_is_no_log_yet_has_no_entries(tmp_path: Path) -> None:
    """QEMU has not come to it."""
    path = tmp_path / "log"
    path.write_bytes(bytes(4096))
    assert Log(path).look() == 0


@pytest.mark.parametrize("count", [0, 1])
def test_without_a_flush_nothing_is_sure(tmp_path: Path, count: int) -> None:
    """Not even the first write."""
    found = log(tmp_path / "log", write(0, "a"))
    seen = {letters(tmp_path, moment(tmp_path, found, count), seed) for seed in range(20)}
    assert seen == ({"........"} if count == 0 else {"........", "a......."})
