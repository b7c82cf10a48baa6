"""The replay's own parts: a log is read as it was written, states obey flushes, a broken disk is not called whole."""

import struct
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from drill_story import RUN, Story, marker_id, told
from harness_runs import inspect_work, run_of
from lab.writelog import FLUSH, MAGIC, SECTOR, Entry
from replay import reading
from replay.campaign import SLACK_NS, Found, Recording
from replay.log import BadLog, DiskLog, read_log, stretches
from replay.reading import Published, Reader
from replay.states import DiskState, states
from spoteval.files import append_line, write_record
from spoteval.paths import DurablePaths
from spoteval.publication.keys import (
    interruption_key,
    manifest_key,
    part_key,
    segment_key,
)

LOST = "demo/item-002/1"


def entry(at: int, size: int, flags: int = 0) -> Entry:
    """One request, whose place in the log is that on the disk."""
    return Entry(at, size, at + SECTOR, flags)


LOG = (
    entry(0, 4096),
    entry(8192, 8192),
    entry(0, 0, FLUSH),
    entry(4096, 4096),
    entry(0, 0, FLUSH),
    entry(0, 0, FLUSH),
)


def written(path: Path, requests: list[tuple[int, int, bytes]]) -> Path:
    """A log in the kernel's format: sector, flags and data of each request."""
    data = struct.pack("<QQQI", MAGIC, 1, len(requests), SECTOR).ljust(SECTOR, b"\0")
    for sector, flags, body in requests:
        head = struct.pack("<QQQQ", sector, len(body) // SECTOR, flags, 0)
        data += head.ljust(SECTOR, b"\0") + body
    path.write_bytes(data)
    return path


def test_a_log_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Places in bytes; a flush has no data."""
    path = written(tmp_path / "log", [(8, 0, b"a" * 1024), (0, FLUSH, b""), (2, 0, b"b" * 512)])
    first, flush, last = read_log(path).entries
    assert (first.offset, first.size, first.data) == (4096, 1024, 2 * SECTOR)
    assert (flush.flushes, flush.writes) == (True, False)
    assert (last.offset, last.size, last.begins) == (1024, 512, 5 * SECTOR)


def test_a_log_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """The superblock may say more than there is."""
    path = written(tmp_path / "log", [(8, 0, b"a" * 1024), (2, 0, b"b" * 512)])
    path.write_bytes(path.read_bytes()[: 4 * SECTOR])
    assert len(read_log(path).entries) == 1


@pytest.mark.parametrize("data", [b"", b"no log" * 200])
def test_what_is_no_log_is_refused(tmp_path: Path, data: bytes) -> None:
    """One line."""
    (tmp_path / "log").write_bytes(data)
    with pytest.raises(BadLog):
        read_log(tmp_path / "log")


def test_how_many_requests_may_have_been_begun(tmp_path: Path) -> None:
    """By the length of the log: one whose first byte lies behind it had not."""
    log = DiskLog(tmp_path, (entry(512, 0), entry(1024, 0), entry(2048, 0)))
    assert [log.before(size) for size in (0, 512, 513, 1024, 2048, 2049)] == [0, 0, 1, 1, 2, 3]


def test_stretches_lie_between_flushes() -> None:
    """The last one is open."""
    assert [(one.first, one.last) for one in stretches(LOG)] == [(0, 2), (3, 4), (5, 5), (6, 6)]


def test_every_flush_is_a_state_and_subsets_are_shared_out() -> None:
    """As many as asked for, each stretch with writes has its share, and the same seed makes the same."""
    found = list(states(LOG, 104, 1))
    assert len(found) == 104
    assert [state.number for state in found] == list(range(104))
    exact = [state for state in found if state.cut == state.stretch.first]
    assert [state.stretch.first for state in exact] == [0, 3, 5, 6]
    assert all(not state.pieces for state in exact)
    by_stretch = [sum(state.stretch.first == first for state in found) for first in (0, 3)]
    assert by_stretch == [51, 51]
    assert found == list(states(LOG, 104, 1))
    assert found != list(states(LOG, 104, 2))


def test_a_state_holds_nothing_of_what_came_after_its_cut() -> None:
    """Pieces are of its own stretch, before the cut, inside of their write; torn ones are single sectors."""
    found = [state for state in states(LOG, 400, 3) if state.pieces]
    for state in found:
        for piece in state.pieces:
            assert state.stretch.first <= piece.entry < state.cut <= state.stretch.last
            assert 0 <= piece.offset <= LOG[piece.entry].size - piece.size
            assert piece.size in (SECTOR, LOG[piece.entry].size)
    assert any(piece.size == SECTOR for state in found for piece in state.pieces)
    first = [piece for state in found for piece in state.pieces if LOG[piece.entry].offset == 0]
    assert {piece.size for piece in first} == {LOG[0].size}
    kept = {frozenset(piece.entry for piece in state.pieces) for state in found}
    assert {frozenset([0]), frozenset([1]), frozenset([0, 1]), frozenset([3])} <= kept


def test_what_the_store_held_when_the_power_went(tmp_path: Path) -> None:
    """By the last look that saw no more of the log; what came within the slack is not known yet."""
    old, new = Published("a", 0, b""), Published("b", 100 * SLACK_NS, b"")
    seen = ((2, 50 * SLACK_NS), (4, 101 * SLACK_NS), (9, 200 * SLACK_NS))
    recording = Recording(tmp_path, DiskLog(tmp_path, LOG), seen, (old, new), "")
    known = [sorted(recording.known_at(cut)) for cut in (1, 2, 3, 4, 8, 9)]
    assert known == [[], ["a"], ["a"], ["a", "b"], ["a", "b"], ["a", "b"]]


def whole(tmp_path: Path) -> tuple[Story, dict[str, Published]]:
    """A disk that is whole, and what the store had of it."""
    story = told(tmp_path)
    write_record(story.disk.sentinel, {"instance": "gpu-1"})
    events = story.run.events.read_bytes()
    closed = (story.marker(1) / "closed.json").read_bytes()
    items = {
        manifest_key(RUN, "1", 1): b"{}",
        segment_key(RUN, "gpu-1", "events.jsonl", 1, 0, len(events)): events,
        interruption_key(RUN, marker_id(1), "closed.json"): closed,
    }
    return story, {key: Published(key, 0, data) for key, data in items.items()}


def torn(path: Path) -> None:
    """A line in the middle is half there."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0][:-9] + b"\n" + b"".join(lines[1:]))


def without_witness(path: Path) -> None:
    """The first episode's line is gone."""
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))


BREAKS: dict[str, tuple[Callable[[Story], object], str]] = {
    "marker": (lambda story: (story.marker(2) / "opened.json").write_bytes(b""), "unreadable"),
    "lines": (lambda story: torn(story.run.settlement), "torn before its end"),
    "intended": (lambda story: story.run.intended.write_bytes(b"\0" * 64), "unreadable"),
    "witness": (lambda story: without_witness(story.run.finished), "no witness on the disk: 1"),
    "segment": (lambda story: torn(story.run.events), "other bytes on the disk: events.jsonl"),
    "late": (lambda story: (story.marker(1) / "closed.json").unlink(), "not so on the disk"),
    "empty": (lambda story: story.disk.root.rename(story.base / "gone"), "the disk is empty"),
}


def test_a_whole_disk_has_no_problem(tmp_path: Path) -> None:
    """Also with a last line that was being written."""
    story, store = whole(tmp_path)
    assert Reader("file:///store").problems(story.disk, RUN, store) == []
    with story.run.settlement.open("ab") as file:
        file.write(b'{"interru')
    assert Reader("file:///store").problems(story.disk, RUN, store) == []


@pytest.mark.parametrize("what", BREAKS)
def test_a_broken_disk_is_not_called_whole(tmp_path: Path, what: str) -> None:
    """Each by what is wrong with it."""
    story, store = whole(tmp_path)
    broken, said = BREAKS[what]
    broken(story)
    found = Reader("file:///store").problems(story.disk, RUN, store)
    assert any(said in why for why in found), found


@pytest.fixture
def torn_log(tmp_path: Path) -> tuple[DurablePaths, dict[str, Published]]:
    """The log that a witnessed episode ended in has its name and its size on the disk, and zeros for bytes."""
    disk = DurablePaths(tmp_path)
    run = disk.run("demo")
    logs = inspect_work(run.work, ["killed", "killed-recovered"])
    (logs / "killed-recovered.eval").write_bytes(bytes(5000))
    write_record(disk.sentinel, {"instance": "gpu-1"})
    write_record(run.record, run_of("inspect").record())
    data = b"a sample"
    part = {"name": "sample.json", "size": len(data), "sha256": sha256(data).hexdigest()}
    append_line(run.finished, {"episode": LOST, "attempt": 2, "native_id": "x", "parts": [part]})
    item = Published(part_key("demo", LOST, 2, "sample.json"), 0, data)
    return disk, {item.key: item}


def test_evidence_in_the_store_alone_is_counted(
    torn_log: tuple[DurablePaths, dict[str, Published]],
) -> None:
    """Nothing is lost: it was put before it was witnessed, and the harness is told not to begin it."""
    reader = Reader("file:///store")
    assert reader.problems(torn_log[0], "demo", torn_log[1]) == []
    assert reader.stored_alone == 1


@pytest.mark.parametrize("stored", [None, b"another sample"])
def test_evidence_that_is_nowhere_is_lost(
    torn_log: tuple[DurablePaths, dict[str, Published]], stored: bytes | None
) -> None:
    """Neither on the disk nor, as it was, in the store."""
    disk, store = torn_log
    found = {key: Published(key, 0, stored) for key in store} if stored is not None else {}
    assert Reader("file:///store").problems(disk, "demo", found) == [
        f"finished, and its evidence is gone: {LOST}"
    ]


def test_what_a_harness_would_begin_again_is_not_whole(
    torn_log: tuple[DurablePaths, dict[str, Published]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the store has."""
    monkeypatch.setattr(reading, "over", lambda _: frozenset())
    assert Reader("file:///store").problems(torn_log[0], "demo", torn_log[1]) == [
        f"finished, and would be run again: {LOST}"
    ]


def test_an_empty_disk_before_anything_was_published_is_whole(tmp_path: Path) -> None:
    """The power may go before the first write."""
    assert Reader("file:///store").problems(DurablePaths(tmp_path), RUN, {}) == []


def test_results_add_up() -> None:
    """States that were bad, and by what."""
    one, two = Found(), Found()
    state = next(states(LOG, 4, 1))
    assert isinstance(state, DiskState)
    one.add(state, [], 0)
    two.add(state, ["not mounted: x", "harness: y"], 3)
    one.join(two)
    assert one.held == 1
    assert (one.states, one.bad, dict(one.kinds)) == (2, 1, {"not mounted": 1, "harness": 1})
    assert len(one.shown) == 1
