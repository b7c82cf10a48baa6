"""Stopping the run's processes: the harness's own way first, each signal once, KILL last."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from signal import SIGKILL
from time import sleep

from spoteval.clock import Now, read_now
from spoteval.harness.contract import StopStep
from spoteval.machine import process
from spoteval.machine.cgroup import Members, emptied
from spoteval.shape import Reading, Unreadable

RUN_UNIT = "spoteval-run.service"
RESUME_UNIT = "spoteval-boot-resume.service"
_LOOK_EVERY_S = 0.05

Clock = Callable[[], Now]
Pause = Callable[[float], None]
Ignores = Callable[[int, int], Reading[bool]]


@dataclass(frozen=True, slots=True)
class Killed:
    """What KILL found: how many processes it was sent to, and whether the unit was empty after it."""

    count: int
    empty: bool


@dataclass(frozen=True, slots=True)
class Stopped:
    """How a run was stopped: signals told, processes that KILL met, and whether two looks saw nobody."""

    told: tuple[str, ...]
    killed: int
    empty: bool


def usable(
    steps: Sequence[StopStep],
    pids: Iterable[int],
    ignores: Ignores = process.signal_ignored,
    began: Callable[[int], Reading[int]] = process.start_time,
) -> tuple[StopStep, ...]:
    """The steps that the harness will hear: without those that need a handler it does not have.

    The oldest process is the harness; what it started came later. Unreadable counts as heard: it costs
    a wait, leaving out the only graceful step costs the episodes' last words.
    """
    main = _oldest(pids, began)
    return tuple(step for step in steps if not (step.needs_handler and _deaf(main, step, ignores)))


def until_s(steps: Sequence[StopStep], own_s: float) -> tuple[tuple[StopStep, float], ...]:
    """Each step with the second, from the first signal on, by which it must have worked."""
    whole, so_far = sum(step.share for step in steps), 0.0
    ends: list[tuple[StopStep, float]] = []
    for step in steps:
        so_far += step.share
        ends.append((step, own_s * so_far / whole))
    return tuple(ends)


def told_once(
    members: Members,
    unit: str,
    signum: int,
    within_s: float,
    clock: Clock = read_now,
    pause: Pause = sleep,
) -> Reading[int]:
    """Signal those that are there now, once, and wait until nobody is; returns how many still are.

    What a harness starts to clean up (`docker compose down`) is not signalled.
    """
    first = members.members(unit)
    if isinstance(first, Unreadable):
        return first
    began_s = clock().mono_s
    with suppress(PermissionError):  # the others got it; who is still there is counted below
        process.send(first, signum)
    while True:
        left = members.members(unit)
        rest_s = began_s + within_s - clock().mono_s
        if isinstance(left, Unreadable) or not left or rest_s <= 0:
            return left if isinstance(left, Unreadable) else len(left)
        pause(min(_LOOK_EVERY_S, rest_s))


def killed(
    members: Members,
    unit: str,
    within_s: float,
    clock: Clock = read_now,
    pause: Pause = sleep,
) -> Reading[Killed]:
    """KILL until two looks half a second apart see nobody."""
    before = members.members(unit)
    if isinstance(before, Unreadable):
        return before
    empty = emptied(members, unit, SIGKILL, within_s, clock, pause)
    return empty if isinstance(empty, Unreadable) else Killed(len(before), empty)


def stop_run(
    members: Members,
    steps: Sequence[StopStep],
    own_s: float,
    kill_s: float,
    clock: Clock = read_now,
    pause: Pause = sleep,
) -> Reading[Stopped]:
    """Stop the run's unit: its own steps within `own_s` seconds, then KILL within `kill_s`. Blocks as long."""
    first = members.members(RUN_UNIT)
    if isinstance(first, Unreadable):
        return first
    began_s = clock().mono_s
    told: list[str] = []
    for step, by_s in until_s(usable(steps, first) if first else (), own_s):
        left = told_once(
            members, RUN_UNIT, step.signum, began_s + by_s - clock().mono_s, clock, pause
        )
        told.append(step.signum.name)
        if left == 0:
            break
    end = killed(members, RUN_UNIT, kill_s, clock, pause)
    if isinstance(end, Unreadable):
        return end
    return Stopped(tuple(told), end.count, end.empty)


def _deaf(main: int | None, step: StopStep, ignores: Ignores) -> bool:
    return main is not None and ignores(main, step.signum) is True


def _oldest(pids: Iterable[int], began: Callable[[int], Reading[int]]) -> int | None:
    ages = [(age, pid) for pid in pids if not isinstance(age := began(pid), Unreadable)]
    return min(ages)[1] if ages else None
