"""Waiting for signals, files and time; bounded steps."""

import os
import signal
import threading
from pathlib import Path

import pytest

from spoteval.loop import Waker
from spoteval.steps import Step, StepResult, run_steps

pytestmark = pytest.mark.runs("waits for real signals and files")


def test_a_signal_ends_the_wait_and_is_named(tmp_path: Path) -> None:
    """SIGTERM during a long wait is seen, with its number."""
    with Waker() as waker:
        os.kill(os.getpid(), signal.SIGTERM)
        wake = waker.wait(60.0)
    assert (wake.reason, wake.signum) == ("signal", signal.SIGTERM)


def test_a_signal_before_the_wait_is_not_lost() -> None:
    """What arrived while the cycle worked ends the next wait."""
    with Waker() as waker:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        assert {waker.wait(60.0).signum, waker.wait(60.0).signum} == {signal.SIGINT, signal.SIGTERM}


@pytest.mark.parametrize("act", ["create", "touch", "remove"])
def test_a_watched_file_ends_the_wait(tmp_path: Path, act: str) -> None:
    """Creating, touching and removing a touch file are all seen."""
    path = tmp_path / "hold"
    if act != "create":
        path.touch()
        os.utime(path, (1, 1))
    with Waker([path]) as waker:
        if act == "remove":
            path.unlink()
        else:
            path.touch()
        assert waker.wait(60.0).reason == "file"


def test_time_ends_the_wait() -> None:
    """Nothing happens: the wait ends by time."""
    with Waker() as waker:
        assert waker.wait(0.0).reason == "time"
        assert waker.wait(0.05).reason == "time"


def test_each_step_runs_though_earlier_ones_fail_or_hang() -> None:
    """A step that raises and one that never returns do not keep the next from running."""
    never = threading.Event()

    def fail(within_s: float) -> str:
        raise OSError(28, "No space left on device")

    def hang(within_s: float) -> str:
        never.wait(20.0)
        return "too late"

    told: list[StepResult] = []
    steps = [
        Step("one", 5.0, fail),
        Step("two", 0.05, hang),
        Step("three", 5.0, lambda s: f"{s:.0f}"),
    ]
    results = run_steps(steps, told.append)
    never.set()
    assert [(result.name, result.ok) for result in results] == [
        ("one", False),
        ("two", False),
        ("three", True),
    ]
    assert "No space left" in results[0].detail
    assert results[1].detail == "not done within 0.1 s"
    assert results[2].detail == "5"
    assert told == list(results)
