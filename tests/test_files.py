"""Files: whole, appended, locked."""

import os
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from spoteval.files import (
    Lines,
    Taken,
    append_line,
    held,
    is_held,
    parse_lines,
    read_last,
    read_lines,
    read_record,
    read_text,
    remove,
    touch,
    write_new,
    write_record,
    write_whole,
)
from spoteval.files.read import TEXT_BYTES
from spoteval.shape import Table, Unreadable


def test_a_whole_file_is_old_or_new_at_every_cut(tmp_path: Path, crash_points: CrashPoints) -> None:
    """Cut before and after each effect: the old content or the new one, never less."""
    path = tmp_path / "record.json"
    total = crash_points.count(lambda: write_whole(path, b"new"))
    assert total >= 4
    for number in range(1, total + 1):
        path.write_bytes(b"old")
        with pytest.raises(Crash), crash_points.crash_at(number):
            write_whole(path, b"new")
        assert path.read_bytes() in (b"old", b"new")


def test_a_failed_write_leaves_the_old_content_and_no_litter(tmp_path: Path) -> None:
    """A directory in the way of the rename: an error, the old state, nothing half-written."""
    target = tmp_path / "there"
    (target / "full").mkdir(parents=True)
    with pytest.raises(OSError, match="there") as error:
        write_whole(target, b"x")
    assert error.value.filename == str(target)
    assert (target / "full").is_dir()
    assert list(tmp_path.iterdir()) == [target]


def test_an_error_names_the_file_that_was_meant(tmp_path: Path) -> None:
    """Not the temporary one, whose name is another each time: the same failure must read the same."""
    (tmp_path / "file").write_text("")
    for write in (write_whole, write_new):
        with pytest.raises(OSError, match="File exists") as error:
            write(tmp_path / "file" / "record.json", b"x")
        assert error.value.filename == str(tmp_path / "file" / "record.json")


def test_a_link_that_leads_nowhere_is_a_hold(tmp_path: Path) -> None:
    """`ls` shows it, so it is there; what it says cannot be read."""
    (tmp_path / "hold").symlink_to(tmp_path / "nowhere")
    assert read_text(tmp_path / "hold") == Unreadable(
        f"{tmp_path / 'hold'}: a link that leads nowhere"
    )
    assert read_text(tmp_path / "none") is None


def test_of_a_long_text_the_beginning_is_read(tmp_path: Path) -> None:
    """It stands in every line: at the bound whole, one past cut."""
    for size in (TEXT_BYTES, TEXT_BYTES + 1):
        (tmp_path / "hold").write_text("x" * size)
        assert read_text(tmp_path / "hold") == "x" * TEXT_BYTES


def test_create_only_tells_who_was_first(tmp_path: Path) -> None:
    """The second writer changes nothing and knows it."""
    path = tmp_path / "claim.json"
    assert write_new(path, b"first")
    assert not write_new(path, b"second")
    assert path.read_bytes() == b"first"
    assert [item.name for item in tmp_path.iterdir()] == ["claim.json"]


def test_a_line_that_fits_only_in_part_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk with a few bytes left takes a part without a word; once there is room, only that line is lost."""
    path = tmp_path / "log.jsonl"
    append_line(path, {"n": 1})
    write = os.write
    with monkeypatch.context() as nearly_full:
        nearly_full.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:5]))
        with pytest.raises(OSError, match="No space left on device") as error:
            append_line(path, {"n": 2})
    assert error.value.filename == str(path)
    append_line(path, {"n": 3})
    assert read_lines(path) == Lines(({"n": 1}, {"n": 3}), (2,))


def test_a_torn_line_costs_one_line_and_is_named(tmp_path: Path) -> None:
    """A line without its newline gets one before the next is appended."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"n": 1}\n{"n": 2')
    append_line(path, {"n": 3})
    found = read_lines(path)
    assert [record["n"] for record in found.records] == [1, 3]
    assert found.torn == (2,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", []),
        (b'{"n": 1}\n{"n": 2}\n{"n": 3}\n', [2, 3]),
        (b'{"n": 1}\n{"n": 2}\n{"n": 3', [2]),
        (b'{"n": 1}\n', [1]),
    ],
)
def test_the_last_lines_of_a_log(tmp_path: Path, text: bytes, expected: list[int]) -> None:
    """Two of them; a torn one counts as a line and is no record; an absent log has none."""
    path = tmp_path / "log.jsonl"
    assert read_last(path, 2) == ()
    path.write_bytes(text)
    assert [record["n"] for record in read_last(path, 2)] == expected


def test_a_log_cut_at_each_byte_loses_at_most_the_torn_line(tmp_path: Path) -> None:
    """Every prefix of a log reads as its whole lines."""
    data = b'{"n": 1}\n{"n": 22}\n{"n": 333}\n'
    for length in range(len(data) + 1):
        found = parse_lines(data[:length])
        whole = data[:length].count(b"\n")
        assert len(found.records) in (whole, whole + 1)
        assert [record["n"] for record in found.records] == [1, 22, 333][: len(found.records)]
        assert len(found.torn) <= 1


def test_zero_filled_and_foreign_lines_are_torn_not_records() -> None:
    """A power cut leaves zeros; a list or a number is no record."""
    found = parse_lines(b'\x00\x00\x00\n[1]\n5\n{"n": 1}\n')
    assert found.torn == (1, 2, 3)
    assert found.records == ({"n": 1},)


def test_an_absent_record_is_none_and_a_damaged_one_unreadable(tmp_path: Path) -> None:
    """Absent is an answer; damaged is not."""
    path = tmp_path / "r.json"
    assert read_record(path) is None
    for damaged in (b"", b"\x00" * 40, b'{"format": 1', b'{"format": 2}', b"[]", b'{"a": 1}'):
        path.write_bytes(damaged)
        assert isinstance(read_record(path), Unreadable)
    write_record(path, {"name": "x"})
    found = read_record(path)
    assert isinstance(found, Table)
    assert found.text("name") == "x"


def test_a_record_that_cannot_be_opened_is_unreadable(tmp_path: Path) -> None:
    """A directory where a file should be is unreadable, not absent."""
    (tmp_path / "r.json").mkdir()
    assert isinstance(read_record(tmp_path / "r.json"), Unreadable)
    assert isinstance(read_text(tmp_path / "r.json"), Unreadable)


def test_touch_files_keep_what_a_person_wrote(tmp_path: Path) -> None:
    """Touching again never replaces the reason."""
    path = tmp_path / "holds" / "guest"
    touch(path, "tp 4 -> 8 (ana)")
    touch(path, "other")
    assert read_text(path) == "tp 4 -> 8 (ana)"
    assert remove(path)
    assert not remove(path)
    assert read_text(path) is None


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    """The second taker is told at once; the end of the block frees it."""
    path = tmp_path / "lock"
    with held(path):
        assert is_held(path)
        with pytest.raises(Taken, match="is it running twice"), held(path):
            pass
    assert not is_held(path)
    # Whoever may read a file may lock it: an agent under evaluation could keep ours from starting.
    assert path.stat().st_mode & 0o777 == 0o600
