"""control.interrupting: an interruption's records on the disk."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from spoteval.clock import Mark
from spoteval.control import interrupting
from spoteval.control.runfiles import interruptions
from spoteval.files import encoded, read_lines
from spoteval.interruption import PREEMPTED, UNDECIDED, Closed, Opened
from spoteval.paths import DurablePaths
from spoteval.steps import StepResult

AT = Mark(datetime(2026, 12, 1, 2, 58, 11, tzinfo=UTC), 812.25, "boot-1")
OPENED = Opened("2026-12-01T02-58-11-5e55", "swe", "5e55", AT, "notice", UNDECIDED, 60.0, "n-1")
CLOSED = Closed(OPENED.id, AT, PREEMPTED, killed=1, salvaged=16, left=0, total_s=9.4)
STEP = StepResult("kill", ok=True, detail="empty", took_s=0.6)


@pytest.fixture
def durable(tmp_path: Path) -> DurablePaths:
    """A disk with a prepared run."""
    paths = DurablePaths(tmp_path)
    interrupting.prepare(paths, paths.run("swe"))
    return paths


def test_the_records_of_one_interruption(durable: DurablePaths) -> None:
    """Opened, steps, closed; read back as one interruption."""
    folder = interrupting.open_marker(durable, OPENED)
    assert interruptions(durable.run("swe"))[OPENED.id].closed is None
    interrupting.record_step(folder, STEP)
    assert interrupting.close_marker(folder, CLOSED)
    found = interruptions(durable.run("swe"))[OPENED.id]
    assert (found.opened, found.closed, found.cause) == (OPENED, CLOSED, PREEMPTED)
    assert read_lines(folder / interrupting.STEPS).records == (STEP.record(),)


def test_repeats_change_nothing(durable: DurablePaths) -> None:
    """The first marker and the first closing stand, byte for byte."""
    folder = interrupting.open_marker(durable, OPENED)
    interrupting.close_marker(folder, CLOSED)
    before = [(folder / name).read_bytes() for name in (interrupting.OPENED, interrupting.CLOSED)]
    interrupting.prepare(durable, durable.run("swe"))
    assert interrupting.open_marker(durable, OPENED) == folder
    assert not interrupting.close_marker(folder, Closed(OPENED.id, AT, "operator"))
    assert [
        (folder / name).read_bytes() for name in (interrupting.OPENED, interrupting.CLOSED)
    ] == before


def test_the_spare_is_taken_by_the_marker_and_laid_again(durable: DurablePaths) -> None:
    """It lies outside the runs, and is no interruption."""
    spare = interrupting.spare_of(durable)
    assert interruptions(durable.run("swe")) == {}
    inode = (spare / interrupting.OPENED).stat().st_ino
    folder = interrupting.open_marker(durable, OPENED)
    assert (folder / interrupting.OPENED).stat().st_ino == inode
    assert not spare.exists()
    interrupting.prepare(durable, durable.run("swe"))
    assert (spare / interrupting.OPENED).exists()


def test_a_crash_at_each_write_leaves_a_readable_state(
    tmp_path: Path, crash_points: CrashPoints
) -> None:
    """After the next start: no marker, an open one, or a closed one; and none is lost once it was written."""

    def work(durable: DurablePaths) -> None:
        interrupting.prepare(durable, durable.run("swe"))
        folder = interrupting.open_marker(durable, OPENED)
        interrupting.record_step(folder, STEP)
        interrupting.close_marker(folder, CLOSED)

    trace = crash_points.trace(lambda: work(DurablePaths(tmp_path / "whole")))
    written = trace.index(("rename", str(marker_at(tmp_path / "whole").parent)))
    for n in range(1, len(trace) + 1):
        durable = DurablePaths(tmp_path / str(n))
        with pytest.raises(Crash), crash_points.crash_at(n):
            work(durable)
        interrupting.adopt(durable)
        found = interruptions(durable.run("swe"))
        assert bool(found) is (n >= written)
        assert all(
            item.opened == OPENED and item.closed in (None, CLOSED) for item in found.values()
        )


def marker_at(disk: Path) -> Path:
    """Where the marker of these tests lies."""
    return DurablePaths(disk).run("swe").interruptions / OPENED.id / interrupting.OPENED


def test_what_is_no_whole_marker_is_not_adopted(durable: DurablePaths) -> None:
    """Blanks, damage, a run that is gone, a name that leads out: all stay where they are."""
    spare = interrupting.spare_of(durable) / interrupting.OPENED
    assert interrupting.adopt(durable) is None
    for content in ('{"format": 1', '{"format": 1, "id": "x"}', whole("gone"), whole("../swe")):
        spare.write_text(content)
        assert interrupting.adopt(durable) is None
    spare.write_text(whole("swe"))
    assert interrupting.adopt(durable) == OPENED.id
    assert marker_at(durable.disk).exists()
    assert interrupting.adopt(durable) is None


def whole(run: str) -> str:
    """A marker as it lies on a disk, of this run."""
    return encoded(replace(OPENED, run=run).record()).decode()


@pytest.mark.parametrize("name", [interrupting.OPENED, interrupting.CLOSED])
def test_a_record_cut_at_each_byte(durable: DurablePaths, name: str) -> None:
    """A damaged marker names no interruption; a damaged closing leaves it open, and is said."""
    folder = interrupting.open_marker(durable, OPENED)
    interrupting.close_marker(folder, CLOSED)
    data = (folder / name).read_bytes()
    for length in range(len(data) - 1):
        (folder / name).write_bytes(data[:length])
        found = interruptions(durable.run("swe"))
        if name == interrupting.OPENED:
            assert found == {}
        else:
            assert found[OPENED.id].closed is None
            assert found[OPENED.id].closed_unreadable


def test_steps_cut_at_each_byte_lose_the_torn_line_alone(durable: DurablePaths) -> None:
    """And the next step is on a line of its own."""
    folder = interrupting.open_marker(durable, OPENED)
    interrupting.record_step(folder, STEP)
    whole_line = (folder / interrupting.STEPS).read_bytes()
    for length in range(1, len(whole_line) - 1):
        (folder / interrupting.STEPS).write_bytes(whole_line + whole_line[:length])
        interrupting.record_step(folder, STEP)
        lines = read_lines(folder / interrupting.STEPS)
        assert lines.records == (STEP.record(), STEP.record())
        assert lines.torn == (2,)
