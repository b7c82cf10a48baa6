"""control.runcontrol: the harness's own stop steps, each signal once, KILL last."""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spoteval.clock import Now
from spoteval.control import runcontrol
from spoteval.control.runcontrol import RUN_UNIT, Killed, Stopped
from spoteval.harness.contract import StopStep
from spoteval.machine import process
from spoteval.machine.cgroup import MarkedProcesses, mark
from spoteval.shape import Reading, Unreadable

INT = StopStep(signal.SIGINT, 0.75, needs_handler=True)
TERM = StopStep(signal.SIGTERM, 0.25)
GONE = 2**22 + 1  # above the largest pid there is


@dataclass
class World:
    """A unit whose members, look by look, are scripted, and a clock that the pauses move."""

    looks: Iterator[Reading[frozenset[int]]]
    now_s: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def members(self, unit: str) -> Reading[frozenset[int]]:
        assert unit == RUN_UNIT
        return next(self.looks)

    def clock(self) -> Now:
        return Now(datetime(2026, 12, 1, tzinfo=UTC), self.now_s, "boot")

    def pause(self, seconds: float) -> None:
        self.now_s += seconds


def looks(*first: Reading[frozenset[int]], then: frozenset[int] = frozenset()) -> World:
    """These, then the same for ever."""

    def each() -> Iterator[Reading[frozenset[int]]]:
        yield from first
        while True:
            yield then

    return World(each())


def test_the_steps_share_the_own_time_and_hand_on_what_is_left() -> None:
    """INT works until 3/4 of it, TERM until its end; of one step alone it is all."""
    assert runcontrol.until_s((INT, TERM), 20) == ((INT, 15.0), (TERM, 20.0))
    assert runcontrol.until_s((TERM,), 20) == ((TERM, 20.0),)
    assert runcontrol.until_s((), 20) == ()


@pytest.mark.parametrize(
    ("ignored", "heard"),
    [(True, (TERM,)), (False, (INT, TERM)), (Unreadable("gone"), (INT, TERM))],
)
def test_a_step_that_needs_a_handler_is_left_out_where_there_is_none(
    ignored: Reading[bool], heard: Sequence[StopStep]
) -> None:
    """The oldest process is asked; what it started may ignore what it likes. Unknown is not deaf."""
    began = {11: 500, 12: 100, 13: 900}

    def ignores(pid: int, signum: int) -> Reading[bool]:
        assert signum == signal.SIGINT
        return ignored if pid == 12 else not ignored

    assert runcontrol.usable((INT, TERM), began, ignores, lambda pid: began[pid]) == heard


def test_nobody_there_leaves_the_steps_as_they_are() -> None:
    """Also where all ended between two looks."""
    assert runcontrol.usable((INT, TERM), ()) == (INT, TERM)
    assert runcontrol.usable((INT,), (5,), began=lambda _: Unreadable("gone")) == (INT,)


@pytest.mark.parametrize(("within_s", "left"), [(0.10, 1), (0.15, 0)])
def test_a_signal_is_waited_for_until_nobody_is_left(within_s: float, left: int) -> None:
    """Three looks of 0.05 s find it gone; with less time it is counted as left."""
    one = frozenset([GONE])
    world = looks(one, one, one, one)
    assert (
        runcontrol.told_once(world, RUN_UNIT, signal.SIGINT, within_s, world.clock, world.pause)
        == left
    )


def test_unreadable_members_are_told_as_such() -> None:
    """Neither zero left nor any."""
    world, blind = looks(), Unreadable("x")
    world.looks = iter([blind] * 9)
    call = (RUN_UNIT, signal.SIGINT, 1.0, world.clock, world.pause)
    assert runcontrol.told_once(world, *call) == blind
    assert runcontrol.killed(world, RUN_UNIT, 1.0, world.clock, world.pause) == blind
    assert runcontrol.stop_run(world, (TERM,), 1.0, 1.0, world.clock, world.pause) == blind


def test_kill_counts_whom_it_met_and_sees_empty_twice() -> None:
    """Two were left; half a second without anybody makes it empty."""
    world = looks(frozenset([GONE, GONE + 1]), frozenset([GONE]))
    found = runcontrol.killed(world, RUN_UNIT, 2.0, world.clock, world.pause)
    assert found == Killed(2, empty=True)
    assert world.now_s >= 0.5


def test_stopping_nobody_signals_nobody() -> None:
    """The first look is empty: no step, nothing killed."""
    world = looks()
    found = runcontrol.stop_run(world, (INT, TERM), 4.0, 2.0, world.clock, world.pause)
    assert found == Stopped((), 0, empty=True)


def test_a_run_that_will_not_die_is_not_called_empty() -> None:
    """Every step was told, KILL too, and somebody is still there."""
    world = looks(then=frozenset([GONE]))
    found = runcontrol.stop_run(world, (INT, TERM), 4.0, 2.0, world.clock, world.pause)
    assert found == Stopped(("SIGINT", "SIGTERM"), 1, empty=False)
    assert 6.0 <= world.now_s < 6.3


SCRIPT = """
import os, signal, subprocess, sys, time
count = 0
def say(text):  # print is not reentrant, and the signal may come while "up" is being said
    os.write(1, (text + chr(10)).encode())
def heard(signum, frame):
    global count
    count += 1
    code = subprocess.Popen(["sh", "-c", "echo clean; sleep 0.4"]).wait()
    say(f"heard {count}, cleaned {code}")
    sys.exit(0)
signal.signal(signal.SIGINT, heard if sys.argv[1] == "hears" else signal.SIG_IGN)
say("up")
time.sleep(60)
"""


def harness(root: Path, handler: str) -> process.Child:
    """A process of the run's unit that treats SIGINT so, and is up."""
    name, _, value = mark(root, RUN_UNIT).partition("=")
    env = {"PATH": os.environ["PATH"], name: value}
    child = process.spawn([sys.executable, "-c", SCRIPT, handler], env, output_pipe=True)
    assert child.stdout is not None
    assert child.stdout.readline() == b"up\n"
    return child


@pytest.mark.runs("starts a process that cleans up at SIGINT")
def test_int_is_sent_once_and_not_to_what_cleans_up(tmp_path: Path) -> None:
    """The child that the harness starts at SIGINT ends by itself, with 0."""
    child = harness(tmp_path, "hears")
    found = runcontrol.stop_run(MarkedProcesses(tmp_path), (INT, TERM), 30, 10)
    assert found == Stopped(("SIGINT",), 0, empty=True)
    assert child.stdout is not None
    assert child.stdout.read() == b"clean\nheard 1, cleaned 0\n"
    assert child.wait(10) == 0
    child.stdout.close()


@pytest.mark.runs("starts a process that ignores SIGINT")
def test_a_harness_that_ignores_int_gets_the_next_step_at_once(tmp_path: Path) -> None:
    """As one that a shell started in the background."""
    child = harness(tmp_path, "ignores")
    found = runcontrol.stop_run(MarkedProcesses(tmp_path), (INT, TERM), 30, 10)
    assert found == Stopped(("SIGTERM",), 0, empty=True)
    assert child.wait(10) == -signal.SIGTERM
    assert child.stdout is not None
    child.stdout.close()
