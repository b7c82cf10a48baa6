"""Logs and buffers together: each begin of a sample is one attempt, whatever the processes died of."""

import json
import shutil
import sqlite3
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_runs import DEAD_PID, RECORDED, buffer, inspect_work, killed_rows, run_of, written
from spoteval.episode import Outcome, classify, tally
from spoteval.harness import inspect_buffer
from spoteval.harness.contract import Survey
from spoteval.harness.inspect import Inspect
from spoteval.harness.inspect_buffer import Buffer
from spoteval.harness.inspect_log import Log, read_log
from spoteval.harness.inspect_survey import EvalSet, survey_of, tasks_of

LIFE = ("killed", "killed-recovered", "retried", "resumed")


def survey(work: Path) -> Survey:
    """A fresh adapter's survey."""
    return Inspect().survey(run_of("inspect"), work)


def keys(found: Survey) -> dict[str, list[str]]:
    """The samples in each group."""
    return {
        "finished": [a.key for a in found.attempts if a.finished],
        "cut": [a.key for a in found.attempts if not a.finished],
        "pending": [a.key for a in found.pending],
        "in_flight": [a.key for a in found.in_flight],
    }


def test_before_the_first_start_there_is_nothing(tmp_path: Path) -> None:
    """No directory: nothing intended, nothing wrong."""
    assert survey(tmp_path) == Survey()


def test_a_finished_run(tmp_path: Path) -> None:
    """Everything intended is finished."""
    inspect_work(tmp_path, ["finished"])
    found = survey(tmp_path)
    assert set(keys(found)["finished"]) == set(found.intended or ())
    assert found.intended == tuple(f"demo/item-00{i}/{e}" for i in (0, 1) for e in (1, 2))
    assert {attempt.number for attempt in found.attempts} == {1}


def test_right_after_a_kill(tmp_path: Path) -> None:
    """Two in the log, one that ended and lies in the buffer, one that was running, one that never began."""
    inspect_work(tmp_path, ["killed"])
    buffer(tmp_path, killed_rows())
    found = survey(tmp_path)
    assert keys(found) == {
        "finished": ["demo/item-000/1", "demo/item-001/1"],
        "cut": [],
        "pending": ["demo/item-002/1"],
        "in_flight": ["demo/item-003/1"],
    }
    assert found.unreadable == ()
    assert found.in_flight[0].outcome is None
    assert found.pending[0].verdict == "C"


def test_a_kill_in_the_middle_of_a_stop_leaves_cuts_and_no_ends(tmp_path: Path) -> None:
    """SIGINT has cancelled what ran, which the buffer holds as ended; KILL came before the log did."""
    inspect_work(tmp_path, ["killed"])
    ended, running = killed_rows()
    said = {"completed_at": "2026-12-01T16:42:29.470762+00:00", "completed": True, "scores": {}}
    said["error"] = 'CancelledError("Cancelled via cancel scope 7f77f0089580")'
    buffer(tmp_path, [ended, {**running, **said}])
    found = survey(tmp_path)
    assert keys(found) == {
        "finished": ["demo/item-000/1", "demo/item-001/1"],
        "cut": ["demo/item-003/1"],
        "pending": ["demo/item-002/1"],
        "in_flight": [],
    }


def test_the_recovery_tells_the_same_as_the_buffer(tmp_path: Path) -> None:
    """The attempts keep their ids: nothing is counted twice when Inspect writes the buffer into a log."""
    inspect_work(tmp_path, ["killed"])
    buffer(tmp_path, killed_rows())
    before = survey(tmp_path)
    shutil.copy(RECORDED / "killed-recovered.eval", tmp_path / "logs")
    written(tmp_path / "logs/killed-recovered.eval", 1)
    after = survey(tmp_path)
    ids = {a.native_id for a in (*before.attempts, *before.pending, *before.in_flight)}
    assert {a.native_id for a in after.attempts} == ids
    assert (after.pending, after.in_flight) == ((), ())
    assert keys(after)["cut"] == ["demo/item-003/1"]


def test_the_whole_life_of_a_run(tmp_path: Path) -> None:
    """Killed, recovered, cut again by SIGINT, finished: 5 ended, 2 cut, in the order in which they began."""
    inspect_work(tmp_path, LIFE)
    buffer(tmp_path, killed_rows())
    found = survey(tmp_path)
    assert Counter(a.outcome for a in found.attempts) == {
        Outcome.COMPLETED: 5,
        Outcome.PREEMPTION_INTERRUPTED: 2,
    }
    third = [a for a in found.attempts if a.key == "demo/item-003/1"]
    assert [a.number for a in third] == [1, 2, 3]
    assert [a.finished for a in third] == [False, False, True]
    classes = classify(found.intended or (), found.attempts)
    assert tally(classes)["completed"] == 5


def test_a_part_is_read_from_the_log_that_is_never_written_again(tmp_path: Path) -> None:
    """Copies in later logs may be other bytes: the first log that holds a sample is the one that counts."""
    inspect_work(tmp_path, LIFE)
    found = {a.key: a.parts[0].path.name for a in survey(tmp_path).attempts if a.finished}
    assert found == {
        "demo/item-000/1": "killed.eval",
        "demo/item-001/1": "killed.eval",
        "demo/item-002/1": "killed-recovered.eval",
        "demo/item-003/1": "resumed.eval",
        "demo/item-004/1": "retried.eval",
    }


def test_a_recovery_that_was_killed_says_nothing(tmp_path: Path) -> None:
    """The original and its buffer still say what is so: no sample of theirs is called cut."""
    logs = inspect_work(tmp_path, ["killed"])
    buffer(tmp_path, killed_rows())
    before = survey(tmp_path)
    shutil.copy(logs / "killed.eval", logs / "killed-recovered.eval")
    written(logs / "killed-recovered.eval", 1)
    after = survey(tmp_path)
    assert keys(after) == keys(before)
    assert after.attempts == before.attempts


def test_a_buffer_that_nobody_recovered_is_cut_once_the_task_goes_on(tmp_path: Path) -> None:
    """A later log of the task, which knows nothing of the rows: their process is over."""
    inspect_work(tmp_path, ["killed", "cancelled"])
    later = read_log(tmp_path / "logs/cancelled.eval")
    first = read_log(tmp_path / "logs/killed.eval")
    assert isinstance(later, Log)
    assert isinstance(first, Log)
    later = replace(later, task_id=first.task_id)
    path = buffer(tmp_path, killed_rows())
    rows = Buffer(path, "killed.eval", DEAD_PID, tuple(killed_rows()))
    found = survey_of(EvalSet((first, later), (rows,)))
    cut = [a for a in found.attempts if a.parts == ()]
    assert [(a.key, a.outcome) for a in cut] == [
        ("demo/item-002/1", Outcome.PREEMPTION_INTERRUPTED),
        ("demo/item-003/1", Outcome.PREEMPTION_INTERRUPTED),
    ]
    assert cut[0].verdict is None
    assert "did not read again" in (cut[0].error or "")
    assert (found.pending, found.in_flight) == ((), ())


def test_two_databases_of_one_log_are_counted_once(tmp_path: Path) -> None:
    """A renamed buffer may for a moment have two names."""
    inspect_work(tmp_path, ["killed"])
    buffer(tmp_path, killed_rows(), pid=DEAD_PID)
    buffer(tmp_path, killed_rows(), pid=DEAD_PID + 1)
    found = survey(tmp_path)
    assert (len(found.pending), len(found.in_flight)) == (1, 1)


def test_a_database_without_its_wal_is_read_too(tmp_path: Path) -> None:
    """Its rows are then what was written back; here none was."""
    inspect_work(tmp_path, ["killed"])
    path = buffer(tmp_path, killed_rows())
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink()
    found = survey(tmp_path)
    assert (found.pending, found.in_flight, found.unreadable) == ((), (), ())


@pytest.mark.parametrize("size", [100, 4096, 5000])
def test_a_torn_database_is_named_never_raised(tmp_path: Path, size: int) -> None:
    """After a power cut it may be anything."""
    inspect_work(tmp_path, ["killed"])
    path = buffer(tmp_path, killed_rows())
    path.write_bytes(b"SQLite format 3\0" + b"\xa5" * size)
    Path(f"{path}-wal").unlink()
    found = survey(tmp_path)
    assert len(found.attempts) == 2
    assert [str(path) in why for why in found.unreadable] == [True]


def test_a_torn_wal_loses_its_end_only(tmp_path: Path) -> None:
    """Cut at every 97th byte: the rows up to the cut, or none, and nothing raised."""
    inspect_work(tmp_path, ["killed"])
    path = buffer(tmp_path, killed_rows())
    wal = Path(f"{path}-wal")
    data = wal.read_bytes()
    seen = set()
    for size in range(0, len(data) + 1, 97):
        wal.write_bytes(data[:size])
        found = survey(tmp_path)
        seen.add((len(found.pending), len(found.in_flight), len(found.unreadable)))
    assert seen <= {(0, 0, 0), (1, 1, 0)}


def test_an_empty_database_is_one_that_was_never_set_up(tmp_path: Path) -> None:
    """A kill between its making and its first table."""
    inspect_work(tmp_path, ["killed"])
    path = buffer(tmp_path, killed_rows())
    path.write_bytes(b"")
    Path(f"{path}-wal").unlink()
    assert survey(tmp_path).unreadable == ()


def test_a_database_whose_tables_the_power_took_is_one_that_was_never_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its log is gone too, and it is read as a file at rest: nothing in it, rather than unreadable for ever."""
    inspect_work(tmp_path, ["killed"])
    path = buffer(tmp_path, killed_rows())
    Path(f"{path}-wal").unlink()
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    asked: list[str] = []
    plain = inspect_buffer._queried

    def unopened(place: Path, option: str) -> tuple[dict[str, Any], ...]:
        asked.append(option)
        if option == "mode=ro":
            raise sqlite3.OperationalError("unable to open database file")
        return plain(place, option)

    monkeypatch.setattr(inspect_buffer, "_queried", unopened)
    assert survey(tmp_path).unreadable == ()
    assert asked[-1] == "immutable=1"


def test_rows_that_are_no_samples_are_passed_over(tmp_path: Path) -> None:
    """Foreign rows cost themselves, not the others."""
    inspect_work(tmp_path, ["killed"])
    odd: list[dict[str, Any]] = [
        {"id": 1, "epoch": 1, "scores": 7, "completed_at": "never"},
        {"id": 2, "epoch": 1},
    ]
    buffer(tmp_path, [*odd, *killed_rows()])
    assert len(survey(tmp_path).pending) == 1


def test_a_torn_log_is_named_and_the_others_read(tmp_path: Path) -> None:
    """One damaged file does not hide the rest."""
    logs = inspect_work(tmp_path, LIFE)
    (logs / "later.eval").write_bytes(b"")
    found = survey(tmp_path)
    assert len(found.attempts) == 7
    assert [str(logs / "later.eval") in why for why in found.unreadable] == [True]


def test_what_a_link_points_at_is_not_read(tmp_path: Path) -> None:
    """The run's own user writes here: a link must not make us read, or publish, another's file."""
    logs = inspect_work(tmp_path, ["killed"])
    shutil.copy(RECORDED / "finished.eval", tmp_path / "elsewhere.eval")
    (logs / "link.eval").symlink_to(tmp_path / "elsewhere.eval")
    found = survey(tmp_path)
    assert len(found.attempts) == 2
    assert logs / "link.eval" not in found.state_files


def test_intended_waits_for_every_task_of_the_set(tmp_path: Path) -> None:
    """eval-set.json names the tasks before any begins; a set of two with one log is not known yet."""
    logs = inspect_work(tmp_path, ["killed"])
    eval_set = json.loads((RECORDED / "eval-set.json").read_bytes())
    (logs / "eval-set.json").write_text(json.dumps(eval_set))
    assert len(survey(tmp_path).intended or ()) == 5
    eval_set["tasks"].append({"name": "odd", "task_id": "other"})
    (logs / "eval-set.json").write_text(json.dumps(eval_set))
    assert survey(tmp_path).intended is None


def test_intended_is_what_the_first_log_of_a_task_says(tmp_path: Path) -> None:
    """Inspect takes another --limit without a word; what was intended stays."""
    inspect_work(tmp_path, ["killed"])
    first = read_log(tmp_path / "logs/killed.eval")
    assert isinstance(first, Log)
    second = replace(first, path=tmp_path / "logs/b.eval", episodes=first.episodes[:2])
    assert len(survey_of(EvalSet((first, second), ())).intended or ()) == 5


def test_two_tasks_of_one_name_are_two(tmp_path: Path) -> None:
    """One task over two models: their samples are different episodes."""
    inspect_work(tmp_path, ["finished"])
    one = read_log(tmp_path / "logs/finished.eval")
    assert isinstance(one, Log)
    other = replace(one, path=tmp_path / "logs/z.eval", task_id="ZZZZZZZZZZ", samples=())
    found = survey_of(EvalSet((one, other), ()))
    labels = {key.split("/")[0] for key in found.intended or ()}
    assert labels == {f"demo~{one.task_id[:8]}", "demo~ZZZZZZZZ"}
    assert all(a.key.startswith(f"demo~{one.task_id[:8]}/") for a in found.attempts)
    assert len(found.intended or ()) == 8


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"tasks": 3}', b'{"tasks": [{}]}'])
def test_a_torn_eval_set_file_names_no_task(data: bytes) -> None:
    """Inspect writes it in place and makes it anew at each start."""
    assert tasks_of(data) == ()


def test_unchanged_logs_are_not_read_again(tmp_path: Path) -> None:
    """A survey costs what is new; a log that was replaced is read."""
    logs = inspect_work(tmp_path, ["killed"])
    adapter = Inspect()
    run = run_of("inspect")
    assert len(adapter.survey(run, tmp_path).attempts) == 2
    first = adapter._known[logs / "killed.eval"]
    adapter.survey(run, tmp_path)
    assert adapter._known[logs / "killed.eval"] is first
    shutil.copy(RECORDED / "cancelled.eval", logs / "killed.eval")
    assert len(adapter.survey(run, tmp_path).attempts) == 4


@given(order=st.permutations(LIFE), known=st.integers(1, 4))
def test_attempts_are_told_apart_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, order: list[str], known: int
) -> None:
    """However the logs' times lie, and however many there are: ids once, keys intended, numbers without a gap."""
    work = tmp_path_factory.mktemp("work")
    inspect_work(work, order[:known])
    buffer(work, killed_rows())
    found = survey(work)
    everything = [*found.attempts, *found.pending, *found.in_flight]
    ids = [a.native_id for a in everything]
    assert len(ids) == len(set(ids))
    assert {a.key for a in everything} <= set(found.intended or ())
    for key in {a.key for a in everything}:
        numbers = sorted(a.number for a in everything if a.key == key)
        assert numbers == list(range(1, len(numbers) + 1))
