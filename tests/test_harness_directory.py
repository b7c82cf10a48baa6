"""The adapter `directory`: any program whose episodes are directories."""

import json
import os
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from harness_runs import run_of
from spoteval.episode import Outcome, Usage, classify
from spoteval.harness.directory import Directory
from spoteval.run import RunRecord

RUN = run_of("directory", executable="/opt/run", args=("--all",), directory="/evals", expected=3)


def episode(work: Path, key: str, done: str | None = None) -> Path:
    """An episode's directory with one file, and its last file where it has ended."""
    path = work / "episodes" / key
    (path / "logs").mkdir(parents=True)
    (path / "logs/a.txt").write_text(key)
    if done is not None:
        (path / "episode.json").write_text(done)
    return path


def test_an_episode_ends_with_its_last_file(tmp_path: Path) -> None:
    """Before `episode.json` it is in flight, after it finished; the key is the directory's name."""
    episode(tmp_path, "1", "{}")
    episode(tmp_path, "2")
    found = Directory().survey(RUN, tmp_path)
    assert [(a.key, a.outcome) for a in found.attempts] == [("1", Outcome.COMPLETED)]
    assert [(a.key, a.outcome) for a in found.in_flight] == [("2", None)]
    assert found.intended == ("1", "2", "3")
    assert classify(found.intended, found.attempts)["3"] == "not_run"


def test_its_last_file_may_say_more(tmp_path: Path) -> None:
    """Outcome, verdict, limit, error, tokens and times."""
    record = {
        "outcome": "model_failure",
        "verdict": "0",
        "limit": "time",
        "error": "no patch",
        "input_tokens": 7,
        "output_tokens": 2,
        "started": "2026-12-01T08:00:00Z",
        "ended": "2026-12-01T08:01:00Z",
        "what the program adds": "is its own",
    }
    episode(tmp_path, "1", json.dumps(record))
    (found,) = Directory().survey(RUN, tmp_path).attempts
    assert found.outcome is Outcome.MODEL_FAILURE
    assert (found.verdict, found.limit, found.error) == ("0", "time", "no patch")
    assert found.usage == Usage(7, 2)
    assert found.started is not None
    assert found.ended is not None
    assert (found.ended - found.started).total_seconds() == 60


def test_an_empty_last_file_is_no_end(tmp_path: Path) -> None:
    """A program that writes in place makes it empty first; `{}` is the shortest end."""
    path = episode(tmp_path, "1", "")
    assert len(Directory().survey(RUN, tmp_path).in_flight) == 1
    (path / "episode.json").write_text("{}")
    assert Directory().survey(RUN, tmp_path).attempts[0].finished


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "3",
        '{"outcome": "fine"}',
        '{"outcome": "preemption_interrupted"}',
        '{"verdict": 1}',
        '{"started": "soon"}',
        '{"input_tokens": "7"}',
    ],
)
def test_a_damaged_end_is_named(tmp_path: Path, text: str) -> None:
    """Neither finished nor in flight: nobody guesses. A program cannot call its own episode cut."""
    path = episode(tmp_path, "1", text)
    found = Directory().survey(RUN, tmp_path)
    assert (found.attempts, found.in_flight) == ((), ())
    assert str(path / "episode.json") in found.unreadable[0]


def test_a_last_file_torn_at_each_byte_never_raises(tmp_path: Path) -> None:
    """Empty it is in flight, whole it is an end, what lies between is named."""
    text = '{"verdict": "right", "output_tokens": 12}'
    path = episode(tmp_path, "1", text)
    for size in range(len(text) + 1):
        (path / "episode.json").write_text(text[:size])
        found = Directory().survey(RUN, tmp_path)
        groups = (len(found.in_flight), len(found.unreadable), len(found.attempts))
        assert groups == (size == 0, 0 < size < len(text), size == len(text)), size


def test_an_end_that_nobody_can_read_is_a_cut(tmp_path: Path) -> None:
    """After a power cut: it begins again, and its torn file is kept with the rest."""
    episode(tmp_path, "1", '{"verdict"')
    Directory().prepare(RUN, tmp_path)
    found = Directory().survey(RUN, tmp_path)
    assert found.unreadable == ()
    assert [part.name for part in found.attempts[0].parts] == ["episode.json", "logs/a.txt"]


def test_a_link_in_the_place_of_all_episodes_holds_none(tmp_path: Path) -> None:
    """The agents that look have keys which the run has not."""
    keys = tmp_path / "credentials" / "follower"
    keys.mkdir(parents=True)
    (keys / "publisher").write_text("k")
    (tmp_path / "work").mkdir()
    for name in ("episodes", "cut"):
        (tmp_path / "work" / name).symlink_to(tmp_path / "credentials")
    found = Directory().survey(RUN, tmp_path / "work")
    assert (found.attempts, found.in_flight) == ((), ())
    assert Directory().salvage(RUN, tmp_path / "work") == ()


def test_parts_are_all_plain_files(tmp_path: Path) -> None:
    """At any depth, and never what a link points at: an episode must not publish another's file."""
    path = episode(tmp_path, "1", "{}")
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("k")
    (path / "link").symlink_to(secret / "key")
    (path / "dir").symlink_to(secret)
    (tmp_path / "episodes/2").symlink_to(secret)
    (attempt,) = Directory().survey(RUN, tmp_path).attempts
    assert [part.name for part in attempt.parts] == ["episode.json", "logs/a.txt"]
    assert attempt.parts[1].path.read_text() == "1"


def test_a_cut_episode_is_set_aside_before_the_next_start(tmp_path: Path) -> None:
    """Each attempt has a directory and a number of its own."""
    for _ in range(2):
        episode(tmp_path, "1")
        (said,) = Directory().prepare(RUN, tmp_path)
        assert said.startswith("1 was cut: moved to ")
    episode(tmp_path, "1", "{}")
    assert Directory().prepare(RUN, tmp_path) == ()
    found = Directory().survey(RUN, tmp_path)
    assert [(a.native_id, a.number, a.finished) for a in found.attempts] == [
        ("1#1", 1, False),
        ("1#2", 2, False),
        ("1#3", 3, True),
    ]
    assert [part.name for part in found.attempts[0].parts] == ["logs/a.txt"]


def test_an_attempt_keeps_its_id_when_it_is_set_aside(tmp_path: Path) -> None:
    """Settled once while it lay in place, it is not another one after."""
    episode(tmp_path, "1")
    before = Directory().survey(RUN, tmp_path).in_flight[0]
    Directory().prepare(RUN, tmp_path)
    after = Directory().survey(RUN, tmp_path).attempts[0]
    assert (before.native_id, before.number) == (after.native_id, after.number)
    assert (before.outcome, after.outcome) == (None, Outcome.PREEMPTION_INTERRUPTED)


def test_a_program_that_goes_on_inside_keeps_its_directories(tmp_path: Path) -> None:
    """Under `continued` a cut episode is the program's to continue."""
    path = episode(tmp_path, "1")
    run = run_of("directory", executable="/opt/run", settlement="continued")
    assert Directory().prepare(run, tmp_path) == ()
    assert path.exists()


def test_a_crash_anywhere_loses_no_attempt(tmp_path: Path, crash_points: CrashPoints) -> None:
    """Cut before and after the move, then done again."""
    for n in (1, 2):
        work = tmp_path / str(n)
        episode(work, "1")
        with pytest.raises(Crash), crash_points.crash_at(n):
            Directory().prepare(RUN, work)
        Directory().prepare(RUN, work)
        assert [a.native_id for a in Directory().survey(RUN, work).attempts] == ["1#1"]


def test_salvage_is_what_has_not_ended(tmp_path: Path) -> None:
    """Every file of the episodes in flight, none of the finished ones."""
    episode(tmp_path, "1", "{}")
    path = episode(tmp_path, "2")
    assert Directory().salvage(RUN, tmp_path) == (path / "logs/a.txt",)


def test_intended_by_list(tmp_path: Path) -> None:
    """The program may name its episodes; the list is state, and stronger than the count."""
    (tmp_path / "intended.json").write_text('["a", "b"]')
    found = Directory().survey(RUN, tmp_path)
    assert (found.intended, found.state_files) == (("a", "b"), (tmp_path / "intended.json",))


@pytest.mark.parametrize("text", ["", "{}", "[1]", '["a"'])
def test_a_damaged_list_is_named(tmp_path: Path, text: str) -> None:
    """Not known is not nothing."""
    (tmp_path / "intended.json").write_text(text)
    found = Directory().survey(RUN, tmp_path)
    assert found.intended is None
    assert "intended.json" in found.unreadable[0]


@pytest.mark.usefixtures("unblocked")
@pytest.mark.parametrize("name", ["episodes/1/episode.json", "intended.json"])
def test_a_pipe_in_the_place_of_a_file_blocks_nobody(tmp_path: Path, name: str) -> None:
    """An episode has a shell: what is no plain file is not opened, and is named."""
    episode(tmp_path, "1")
    os.mkfifo(tmp_path / name)
    found = Directory().survey(RUN, tmp_path)
    assert found.unreadable == (f"{tmp_path / name}: not a plain file",)


def test_without_list_and_count_nothing_is_intended_yet(tmp_path: Path) -> None:
    """None, not zero."""
    assert Directory().survey(run_of("directory"), tmp_path).intended is None
    assert Directory().survey(run_of("directory", expected=0), tmp_path).intended == ()


def test_the_command(tmp_path: Path) -> None:
    """The program with its arguments, told where to write."""
    command = Directory().command(RUN, tmp_path)
    assert command.argv == ("/opt/run", "--all")
    assert command.env == {"SPOTEVAL_WORK": str(tmp_path)}
    assert command.cwd == Path("/evals")


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (RUN, None),
        (run_of("directory", executable="x", settlement="continued"), None),
        (run_of("directory", executable="x", settlement="remaining_budget"), "has spent"),
        (run_of("directory", executable="x", settlement="none"), "begins cut episodes again"),
        (run_of("directory", executable="x", errors="retry-1"), 'errors "retry-1" cannot be'),
        (run_of("directory"), "executable is missing"),
    ],
)
def test_what_it_refuses(run: RunRecord, said: str | None) -> None:
    """What only the program could honour, and a run without a program."""
    refused = Directory().refuses(run)
    assert (refused is None) == (said is None)
    assert (said or "") in (refused or "")
