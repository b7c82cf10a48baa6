"""A real Inspect, cut once: what is over by the declared settlement and errors policy does not begin again."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from harness_runs import run_of
from spoteval.control.settling import cut_attempts
from spoteval.episode import Attempt, Outcome, classify, counted
from spoteval.harness.inspect import Inspect
from spoteval.run import RunRecord

pytestmark = [pytest.mark.runs("a real evaluation, cut once"), pytest.mark.slow]

TASK = Path(__file__).parent / "data/inspect/first_try_task.py"
N = 8
CUT_AFTER = 4
"""Begins at the moment of the cut: with two slots, the first two of them are over."""


class Run:
    """One run in one directory."""

    def __init__(self, work: Path, executable: str, settlement: str, errors: str) -> None:
        self.work, self.witness = work, work / "witness"
        (work / "home").mkdir(parents=True)
        self.record: RunRecord = run_of(
            "inspect",
            args=(f"{TASK}@first_try", "--model", "mockllm/model", "-T", f"n={N}"),
            executable=executable,
            settlement=settlement,
            errors=errors,
            concurrency=2,
            expected=N,
            env={"SPOTEVAL_WITNESS": str(self.witness)},
        )
        self.settled: tuple[Attempt, ...] = ()

    def start(self) -> "subprocess.Popen[bytes]":
        """As `run exec` does, with what was cut for good closed."""
        adapter = Inspect()
        adapter.prepare(self.record, self.work)
        closed = frozenset(attempt.key for attempt in self.settled if attempt.final)
        command = adapter.command(self.record, self.work, closed)
        env = {"PATH": os.environ["PATH"], **command.env}
        return subprocess.Popen(command.argv, env=env, cwd=self.work, preexec_fn=_hears_int)  # noqa: PLW1509 - no thread here

    def cut(self, signum: int, begins: int = CUT_AFTER, ends: int = 2) -> None:
        """Start, let some begin and some end, stop, and settle as boot-resume does.

        The last two to begin wait to be cut, however slow the machine is.
        """
        wait = self.witness.with_name("wait-from")
        wait.write_text(str(begins - 1))
        process = self.start()
        deadline = time.monotonic() + 180
        while self.said()["begin"] < begins or self.said()["end"] + self.said()["fail"] < ends:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signum)
        process.wait(timeout=120)
        wait.unlink()
        survey = Inspect().survey(self.record, self.work)
        is_final = self.record.plan.settlement == "none"
        cut = Outcome.PREEMPTION_INTERRUPTED
        self.settled = tuple(
            replace(attempt, outcome=cut, final=is_final) for attempt in cut_attempts(survey, ())
        )

    def said(self) -> Counter[str]:
        """Begins, ends, failures."""
        return Counter(line[0] for line in self.lines())

    def lines(self) -> list[list[str]]:
        """What the episodes say: word and sample."""
        text = self.witness.read_text() if self.witness.exists() else ""
        return [line.rpartition(" ")[0].split(" ", 1) for line in text.splitlines()]

    def begins(self) -> Counter[str]:
        """How often each sample began."""
        return Counter(line[1] for line in self.lines() if line[0] == "begin")

    def attempts(self) -> tuple[Attempt, ...]:
        """All attempts: those that ended, and those that were settled."""
        survey = Inspect().survey(self.record, self.work)
        assert survey.unreadable == survey.changed == ()
        assert survey.pending == survey.in_flight == ()
        known = {attempt.native_id: attempt for attempt in survey.attempts}
        return tuple({**known, **{item.native_id: item for item in self.settled}}.values())

    def results(self) -> dict[str, tuple[str, str | None]]:
        """Class and verdict of each intended episode."""
        attempts = self.attempts()
        intended = Inspect().survey(self.record, self.work).intended or ()
        classes = classify(intended, attempts)
        of = {key: counted(a for a in attempts if a.key == key) for key in intended}
        return {key: (classes[key], item.verdict if item else None) for key, item in of.items()}


def _hears_int() -> None:
    """Whoever began the tests in the background had SIGINT ignored by all that is below it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def executable() -> str:
    """Inspect beside this Python, or the one that is named."""
    found = shutil.which("inspect", path=str(Path(sys.executable).parent))
    named = os.environ.get("SPOTEVAL_TEST_INSPECT") or found or shutil.which("inspect")
    if named is None:
        pytest.skip("Inspect is not installed (or name it in SPOTEVAL_TEST_INSPECT)")
    return named


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("errors", ["keep", "retry-1"])
def test_verdicts_are_those_of_the_undisturbed_run(
    tmp_path: Path, executable: str, errors: str, signum: int
) -> None:
    """Also of a sample that fails on its first try alone: no cut gives it a second one, or takes the one it has."""
    alone = Run(tmp_path / "alone", executable, "fresh_budget", errors)
    assert alone.start().wait() == 0
    run = Run(tmp_path / "cut", executable, "fresh_budget", errors)
    run.cut(signum)
    assert run.start().wait() == 0
    assert run.results() == alone.results()
    assert Counter(of for of, _ in run.results().values()) == (
        {"completed": N - 1, "harness_error": 1} if errors == "keep" else {"completed": N}
    )
    again = {attempt.key.split("/")[1] for attempt in run.settled}
    assert {name for name, count in run.begins().items() if count > 1} <= again | (
        {"s-1"} if errors == "retry-1" else set()
    )


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGKILL])
def test_under_none_what_was_cut_stays_cut(tmp_path: Path, executable: str, signum: int) -> None:
    """It is left out of the resume, is of its class, and the others end."""
    run = Run(tmp_path, executable, "none", "keep")
    run.cut(signum)
    cut = {attempt.key for attempt in run.settled}
    assert cut
    before = run.begins()
    assert run.start().wait() == 0
    for key in cut:
        name = key.split("/")[1]
        assert run.begins()[name] == before[name]
    results = run.results()
    assert {key for key, (of, _) in results.items() if of == "preemption_interrupted"} == cut
    assert Counter(of for of, _ in results.values()) == {
        "preemption_interrupted": len(cut),
        "harness_error": 1,
        "completed": N - 1 - len(cut),
    }


def test_complaint_95_killed_at_80_percent_nothing_that_ended_runs_again(
    tmp_path: Path, executable: str
) -> None:
    """No word, no flush: what the harness had kept is kept, and the rest is all that begins."""
    run = Run(tmp_path, executable, "fresh_budget", "keep")
    run.cut(signal.SIGKILL, begins=N, ends=N * 8 // 10)
    again = {attempt.key.split("/")[1] for attempt in run.settled}
    assert len(again) <= 2
    assert run.start().wait() == 0
    assert {name for name, count in run.begins().items() if count > 1} <= again
    assert len(run.results()) == N
