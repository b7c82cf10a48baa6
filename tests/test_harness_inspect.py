"""The adapter `inspect`: how its run starts, what it refuses, what belongs to its state."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness_runs import buffer, inspect_work, killed_rows, run_of
from spoteval.harness.inspect import Inspect
from spoteval.harness.plans import stop_steps
from spoteval.harness.registry import adapter
from spoteval.run import HARNESSES

ARGS = ("task.py", "--model", "openai-api/local/m")


def option(argv: tuple[str, ...], name: str) -> str:
    """The last value given to an option."""
    return argv[len(argv) - argv[::-1].index(name)]


def test_the_command_starts_and_resumes(tmp_path: Path) -> None:
    """What the user says stands between what she may override and what she may not."""
    run = run_of("inspect", args=ARGS, concurrency=4, directory="/evals", executable="/v/inspect")
    command = Inspect().command(run, tmp_path)
    assert command.argv == (
        *("/v/inspect", "eval-set", "--ctl-server", "false", *ARGS),
        *("--log-dir", str(tmp_path / "logs"), "--log-buffer", "10000", "--max-samples", "4"),
        *("--display", "none", "--no-retry-cleanup", "--no-fail-on-error"),
        *("--incomplete-action", "retry", "--no-retry-immediate", "--retry-attempts", "1"),
    )
    assert command.cwd == Path("/evals")


def test_everything_it_needs_lies_on_the_durable_disk(tmp_path: Path) -> None:
    """HOME may be the user's, the data directory not: there the sample buffer lies."""
    env = {"HOME": "/home/eva", "XDG_DATA_HOME": "/elsewhere", "A": "b"}
    command = Inspect().command(run_of("inspect", env=env), tmp_path)
    data = str(tmp_path / "home/.local/share")
    assert command.env == {"HOME": "/home/eva", "XDG_DATA_HOME": data, "A": "b"}
    assert Inspect().command(run_of("inspect"), tmp_path).env["HOME"] == str(tmp_path / "home")


@pytest.mark.parametrize(
    ("expected", "count"), [(None, "10000"), (100, "1"), (101, "11"), (5000, "500")]
)
def test_a_log_is_flushed_a_fixed_number_of_times(
    tmp_path: Path, expected: int | None, count: str
) -> None:
    """Each flush writes the whole log: of many samples ten make one, of an unknown number time alone does."""
    argv = Inspect().command(run_of("inspect", expected=expected), tmp_path).argv
    assert option(argv, "--log-buffer") == count


@pytest.mark.parametrize(
    ("args", "count"),
    [
        (("--limit", "20"), "1"),
        (("--limit", "500"), "50"),
        (("--limit", "60", "--epochs", "2"), "12"),
        (("--limit", "1-9"), "10000"),
    ],
)
def test_a_limit_tells_the_number_too(tmp_path: Path, args: tuple[str, ...], count: str) -> None:
    """Before the first header does; a range is not worked out."""
    argv = Inspect().command(run_of("inspect", args=(*ARGS, *args)), tmp_path).argv
    assert option(argv, "--log-buffer") == count


def test_the_number_of_episodes_is_the_header_s(tmp_path: Path) -> None:
    """What the harness says of itself is better than what was expected."""
    inspect_work(tmp_path, ["killed"])
    argv = Inspect().command(run_of("inspect", expected=5000), tmp_path).argv
    assert option(argv, "--log-buffer") == "1"


def test_errors_are_run_again_by_the_harness_itself(tmp_path: Path) -> None:
    """So that every episode has the same chances, cut or not."""
    argv = Inspect().command(run_of("inspect", errors="retry-1"), tmp_path).argv
    assert argv[-1] == "--retry-on-error=1"


def test_settlements(tmp_path: Path) -> None:
    """What cannot be honoured is refused in one sentence that says what can."""
    adapter = Inspect()
    assert adapter.refuses(run_of("inspect", args=ARGS)) is None
    assert adapter.refuses(run_of("inspect", settlement="remaining_budget")) == (
        'settlement "remaining_budget" cannot be honoured by harness inspect: its limits are per run, not per'
        ' episode (use "fresh_budget", or a task that reads $SPOTEVAL_PLAN)'
    )
    refused = adapter.refuses(run_of("inspect", settlement="continued"))
    assert refused is not None
    assert 'settlement "continued" cannot be honoured by harness inspect: ' in refused


@pytest.mark.parametrize(
    ("epochs", "is_refused"),
    [((), False), (("--epochs", "1"), False), (("--epochs", "2"), True), (("--epochs=3",), True)],
)
def test_none_is_honoured_by_the_sample(
    tmp_path: Path, epochs: tuple[str, ...], is_refused: bool
) -> None:
    """Inspect can leave out a sample, not one epoch of it."""
    refused = Inspect().refuses(run_of("inspect", settlement="none", args=(*ARGS, *epochs)))
    assert (refused is not None) is is_refused
    assert refused is None or "leaves out no single epoch" in refused


@pytest.mark.parametrize(
    ("arg", "hint"),
    [
        ("--max-samples", "use [run] concurrency"),
        ("--max-samples=9", "use [run] concurrency"),
        ("--no-log-realtime", "a kill would lose finished samples"),
        ("--log-dir", "spoteval sets it"),
        ("--incomplete-action=error", "cut samples are run again"),
    ],
)
def test_options_that_are_not_the_users(arg: str, hint: str) -> None:
    """What a resume stands on cannot be taken away by an argument."""
    refused = Inspect().refuses(run_of("inspect", args=("t.py", arg)))
    assert refused == f'args "{arg}": not with harness inspect: {hint}'


@pytest.mark.parametrize("arg", ["--limit", "--max-samples-x", "-T", "log-dir", "--max-tasks=2"])
def test_options_that_are(arg: str) -> None:
    """Names that only look alike are the user's."""
    assert Inspect().refuses(run_of("inspect", args=("t.py", arg))) is None


def test_state_is_what_a_resume_needs(tmp_path: Path) -> None:
    """Logs and the set's own files; no sockets, no temporary files, no listing that is made anew."""
    logs = inspect_work(tmp_path, ["killed", "killed-recovered"])
    for name in (".eval-set-id", "eval-set.json", "logs.json", ".inspect_tmp_a.writing", "notes"):
        (logs / name).write_text("{}")
    with socket.socket(socket.AF_UNIX) as listener:
        previous = Path.cwd()
        os.chdir(logs)  # a socket's path may have 107 bytes
        try:
            listener.bind("s.eval")
        finally:
            os.chdir(previous)
        names = [p.name for p in Inspect().survey(run_of("inspect"), tmp_path).state_files]
    assert names == ["killed.eval", "killed-recovered.eval", ".eval-set-id", "eval-set.json"]


def test_salvage_is_the_buffers(tmp_path: Path) -> None:
    """With the log of their last writes, without which they are nothing."""
    inspect_work(tmp_path, ["killed"])
    path = buffer(tmp_path, killed_rows())
    found = Inspect().salvage(run_of("inspect"), tmp_path)
    assert found == (path, Path(f"{path}-wal"), Path(f"{path}-shm"))
    assert Inspect().salvage(run_of("inspect"), tmp_path / "none") == ()


def test_its_stop_path() -> None:
    """SIGINT once, where it is heard; then SIGTERM. The shares are the whole."""
    first, second = stop_steps("inspect")
    assert (first.signum, first.needs_handler) == (signal.SIGINT, True)
    assert (second.signum, second.needs_handler) == (signal.SIGTERM, False)
    for name in HARNESSES:
        assert sum(step.share for step in stop_steps(name)) == pytest.approx(1)
        assert adapter(name).stop_steps == stop_steps(name)
        assert adapter(name).name == name


def test_a_harness_that_does_not_exist() -> None:
    """The name is the error."""
    with pytest.raises(KeyError, match="lm-eval"):
        adapter("lm-eval")
    with pytest.raises(KeyError, match="lm-eval"):
        stop_steps("lm-eval")


@pytest.mark.runs("only a fresh process shows what an import brings along")
@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("plans", {"zstandard", "sqlite3", "zipfile", "spoteval.files", "json.decoder"}),
        ("registry", {"zstandard", "sqlite3", "zipfile"}),
        ("parts", {"zstandard", "sqlite3", "zipfile"}),
        ("directory", {"zstandard", "sqlite3", "zipfile"}),
        ("inspect", {"spoteval.harness.directory", "asyncio", "ssl", "logging"}),
    ],
)
def test_what_an_import_does_not_bring(module: str, absent: set[str]) -> None:
    """The hook loads only the plans, a run without Inspect needs no reader of its logs."""
    code = f"import sys, spoteval.harness.{module}; print(*sys.modules)"
    env = {"PYTHONPATH": os.pathsep.join(sys.path)}
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & absent == set()
