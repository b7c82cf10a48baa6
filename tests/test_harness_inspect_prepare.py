"""Before Inspect resumes, what would make it stumble or repeat finished samples is mended."""

import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from crash_points import Crash, CrashPoints
from harness_runs import (
    BEGIN,
    DEAD_PID,
    RECORDED,
    buffer,
    inspect_work,
    killed_rows,
    run_of,
    written,
)
from spoteval.harness import inspect_buffer
from spoteval.harness.contract import Survey
from spoteval.harness.inspect import Inspect
from spoteval.harness.inspect_buffer import Buffer, buffers
from spoteval.harness.inspect_log import Log, read_log
from spoteval.harness.inspect_repair import order_logs

RUN = run_of("inspect")
NOW_NS = int((BEGIN.timestamp() + 3600) * 1e9)


def prepare(work: Path) -> tuple[str, ...]:
    """By a fresh adapter."""
    return Inspect().prepare(RUN, work)


def ids(found: Survey) -> set[str]:
    """Every attempt that a survey knows."""
    return {a.native_id for a in (*found.attempts, *found.pending, *found.in_flight)}


def newest(logs: Path) -> str:
    """The log that Inspect will take for the furthest."""
    return max(logs.glob("*.eval"), key=lambda path: path.stat().st_mtime_ns).stem


def read(path: Path) -> Log:
    """A log that can be read."""
    log = read_log(path)
    assert isinstance(log, Log)
    return log


def test_nothing_to_mend_is_left_alone(tmp_path: Path) -> None:
    """A first start, and a resume after an orderly stop: no word, no change."""
    assert prepare(tmp_path) == ()
    logs = inspect_work(tmp_path, ["killed", "killed-recovered", "retried"])
    before = {path: path.stat().st_mtime_ns for path in logs.iterdir()}
    buffer(tmp_path, killed_rows())
    assert prepare(tmp_path) == ()
    assert {path: path.stat().st_mtime_ns for path in logs.iterdir()} == before


def test_leftovers_of_a_killed_flush_go(tmp_path: Path) -> None:
    """A temporary file is as large as the log, one for each kill in a flush."""
    logs = inspect_work(tmp_path, ["killed"])
    (logs / ".inspect_tmp_x1-_.writing").write_bytes(b"half")
    assert prepare(tmp_path) == ("removed .inspect_tmp_x1-_.writing, left by a killed flush",)
    assert [path.name for path in logs.iterdir()] == ["killed.eval"]


def test_a_torn_log_is_set_aside(tmp_path: Path) -> None:
    """Inspect refuses to begin beside one. Its bytes stay, under a free name."""
    logs = inspect_work(tmp_path, ["killed"])
    for content in (b"", b"PK"):
        (logs / "torn.eval").write_bytes(content)
        (said,) = prepare(tmp_path)
        assert said.startswith("torn.eval cannot be read: moved to ")
    aside = tmp_path / "set-aside"
    assert (aside / "torn.eval").read_bytes() == b""
    assert (aside / "torn.eval.2").read_bytes() == b"PK"
    assert [path.name for path in logs.iterdir()] == ["killed.eval"]


def test_a_buffer_with_the_id_of_a_living_process_is_renamed(tmp_path: Path) -> None:
    """After a reboot its number belongs to anyone, and Inspect would take the buffer for one in use."""
    inspect_work(tmp_path, ["killed"])
    path = buffer(tmp_path, killed_rows(), pid=os.getpid())
    before = Inspect().survey(RUN, tmp_path)
    assert "another process has its id now" in prepare(tmp_path)[0]
    (found,) = buffers(tmp_path / "home")
    assert isinstance(found, Buffer)
    assert not path.exists()
    assert found.pid == DEAD_PID - 17 + os.getpid()
    assert Inspect().survey(RUN, tmp_path) == before
    assert prepare(tmp_path) == ()


@pytest.mark.parametrize("spoilt", [b"no database at all" * 300, None])
def test_a_damaged_buffer_is_set_aside(tmp_path: Path, spoilt: bytes | None) -> None:
    """With what lies beside it, nothing of it thrown away; the survey names it before, and no more after."""
    inspect_work(tmp_path, ["killed"])
    path = buffer(tmp_path, killed_rows())
    wal = Path(f"{path}-wal")
    if spoilt is None:
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        spoilt = path.read_bytes()[:4096] + b"\xff" * 8192
    wal.unlink(missing_ok=True)
    path.write_bytes(spoilt)
    wal.write_bytes(b"")
    assert len(Inspect().survey(RUN, tmp_path).unreadable) == 1
    said = prepare(tmp_path)
    assert {line.split()[0] for line in said} >= {path.name, wal.name}
    assert not list(path.parent.glob(f"{path.name}*"))
    aside = tmp_path / "set-aside"
    assert (aside / path.name).read_bytes() == spoilt
    assert (aside / wal.name).exists()
    assert Inspect().survey(RUN, tmp_path).unreadable == ()
    assert prepare(tmp_path) == ()


def test_a_buffer_that_cannot_be_opened_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locked is not damaged."""
    inspect_work(tmp_path, ["killed"])
    path = buffer(tmp_path, killed_rows())

    def locked(place: Path, option: str) -> tuple[dict[str, Any], ...]:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(inspect_buffer, "_queried", locked)
    prepare(tmp_path)
    assert path.exists()


def test_a_buffer_of_a_dead_process_keeps_its_name(tmp_path: Path) -> None:
    """No process has a number above 2^22."""
    inspect_work(tmp_path, ["killed"])
    path = buffer(tmp_path, killed_rows(), pid=1 << 22)
    assert prepare(tmp_path) == ()
    assert path.exists()


def test_a_recovery_that_was_killed_is_not_the_furthest(tmp_path: Path) -> None:
    """Half a copy is newer than its original, and has no buffer: what only the buffer holds would run again."""
    logs = inspect_work(tmp_path, ["killed"])
    buffer(tmp_path, killed_rows())
    shutil.copy(logs / "killed.eval", logs / "killed-recovered.eval")
    written(logs / "killed-recovered.eval", 1)
    assert prepare(tmp_path) == ("killed.eval is the furthest log: made the newest",)
    assert newest(logs) == "killed"
    assert prepare(tmp_path) == ()


def test_a_whole_recovery_stays_the_newest(tmp_path: Path) -> None:
    """It is as far as the original with its buffer."""
    logs = inspect_work(tmp_path, ["killed", "killed-recovered"])
    buffer(tmp_path, killed_rows())
    assert prepare(tmp_path) == ()
    assert newest(logs) == "killed-recovered"


def test_a_clock_that_was_set_back_does_not_hide_the_furthest(tmp_path: Path) -> None:
    """The later log carries the earlier time."""
    logs = inspect_work(tmp_path, ["resumed", "retried", "killed-recovered", "killed"])
    prepare(tmp_path)
    assert newest(logs) == "resumed"


@pytest.mark.parametrize(("ahead_ns", "changes"), [(0, False), (1, True)])
def test_no_log_is_of_the_future(tmp_path: Path, ahead_ns: int, changes: bool) -> None:
    """Else the next log would seem older than this one. At this moment is not the future, one past it is."""
    logs = inspect_work(tmp_path, ["killed", "killed-recovered"])
    moment = NOW_NS + ahead_ns
    os.utime(logs / "killed-recovered.eval", ns=(moment, moment))
    found = [read(logs / "killed.eval"), read(logs / "killed-recovered.eval")]
    assert bool(order_logs(found, [], NOW_NS)) is changes
    assert newest(logs) == "killed-recovered"
    assert (logs / "killed-recovered.eval").stat().st_mtime_ns <= NOW_NS
    assert order_logs(found, [], NOW_NS) == []


def test_logs_of_other_tasks_do_not_matter(tmp_path: Path) -> None:
    """The furthest is sought among the logs of one task: another task's newer log is no reason."""
    logs = inspect_work(tmp_path, ["killed", "killed-recovered", "odd"])
    found = [read(path) for path in logs.glob("*.eval")]
    assert order_logs(found, [], NOW_NS) == []


def test_a_crash_anywhere_costs_nothing(tmp_path: Path, crash_points: CrashPoints) -> None:
    """Cut before and after each effect, then done again: every attempt is still known."""

    def world(name: str) -> Path:
        work = tmp_path / name
        logs = inspect_work(work, ["killed"])
        buffer(work, killed_rows(), pid=os.getpid())
        shutil.copy(logs / "killed.eval", logs / "killed-recovered.eval")
        written(logs / "killed-recovered.eval", 1)
        (logs / "torn.eval").write_bytes(b"PK")
        (logs / ".inspect_tmp_a.writing").write_bytes(b"")
        return work

    untouched = ids(Inspect().survey(RUN, world("untouched")))
    count = crash_points.count(lambda: prepare(tmp_path / "untouched"))
    assert count > 10
    for n in range(1, count + 1):
        work = world(f"cut-{n}")
        with pytest.raises(Crash), crash_points.crash_at(n):
            prepare(work)
        prepare(work)
        found = Inspect().survey(RUN, work)
        assert ids(found) == untouched, n
        assert (len(found.pending), len(found.in_flight)) == (1, 1), n
        assert newest(work / "logs") == "killed"
        assert list((work / "set-aside").iterdir()) == [work / "set-aside/torn.eval"]


def test_the_recorded_files_stay_as_they_are(tmp_path: Path) -> None:
    """Preparing changes times and names, never bytes."""
    logs = inspect_work(tmp_path, ["resumed", "killed"])
    prepare(tmp_path)
    for path in logs.glob("*.eval"):
        assert path.read_bytes() == (RECORDED / path.name).read_bytes()
