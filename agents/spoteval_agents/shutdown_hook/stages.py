"""The steps of an interruption, each with the second by which it must be over."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from signal import SIGTERM
from typing import TypeVar

from spoteval.control import requests
from spoteval.control.containers import Removal, ask_removal, first_start
from spoteval.control.interrupting import SALVAGE
from spoteval.control.requests import FINAL, Answer
from spoteval.control.runcontrol import (
    RESUME_UNIT,
    RUN_UNIT,
    killed,
    told_once,
    until_s,
    usable,
)
from spoteval.files import read_lines, touch
from spoteval.harness.contract import StopStep
from spoteval.harness.plans import salvage_files, stop_steps
from spoteval.machine.cgroup import SEEN_EMPTY_AGAIN_S
from spoteval.shape import Reading, Unreadable
from spoteval_agents.shutdown_hook.decide import AGENT
from spoteval_agents.shutdown_hook.plan import Plan
from spoteval_agents.shutdown_hook.salvage import salvage
from spoteval_agents.shutdown_hook.target import Target
from spoteval_agents.shutdown_hook.work import Work

FOLLOWER_UNIT = "spoteval-publication-follower.service"
QUICK_S, LEAST_S, CONTAINERS_S = 0.5, 0.1, 5.0
SURE_S = SEEN_EMPTY_AGAIN_S + 0.3
_LAST_WORD_S = 0.1  # a step ends so long before its bound, or its word is lost
_LOOK_EVERY_S = 0.05
_UNKNOWN_HARNESS = (StopStep(SIGTERM, 1.0),)

T = TypeVar("T")


class Failed(RuntimeError):
    """A step did not do what it is for."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One step, and the second from the marker on by which it must be over."""

    name: str
    by_s: float
    act: Callable[[float], str]


def carry_out(work: Work, plan: Plan) -> None:
    """Everything that the plan has time for, in order."""
    for stage in stages(work, plan):
        work.do(stage.name, max(LEAST_S, stage.by_s - work.elapsed_s()), stage.act)


def stages(work: Work, plan: Plan) -> Iterator[Stage]:
    """Lazily: what a stage may take is known when those before it are over."""
    if work.opened.notice is not None:
        yield Stage("event", _soon_s(work), lambda _: work.tell("notice", None))
        yield Stage("fact", _soon_s(work), lambda _: work.world.put_fact(work.opened))
    yield Stage("draining", _soon_s(work), partial(_drain, work))
    yield Stage("boot-resume", _soon_s(work), partial(_stop_resume, work))
    if not plan.refused:
        yield from _stop_stages(work, plan)
        if plan.salvage_by_s is not None and work.target is not None:
            yield Stage("salvage", plan.salvage_by_s, partial(_salvage, work, work.target))
    if work.target is not None:
        yield Stage("final-pass", plan.final_by_s, partial(_final, work, work.target))


def _stop_stages(work: Work, plan: Plan) -> Iterator[Stage]:
    found = work.world.members.members(RUN_UNIT)
    steps = usable(_own_steps(work), () if isinstance(found, Unreadable) else found)
    began_s = work.elapsed_s()
    heard = steps[:1] if plan.first_step_only else steps
    for step, by_s in until_s(heard, max(0.0, plan.own_by_s - began_s)):
        yield Stage(step.signum.name, began_s + by_s, partial(_tell_run, work, step))
    # Two looks need their half second, also where the steps before used up all of their time.
    sure_s = work.elapsed_s() + SURE_S
    yield Stage("kill", max(plan.empty_by_s, sure_s), partial(_kill, work))
    if work.target is not None and work.target.containers:
        yield Stage("containers", _containers_by_s(plan), partial(_containers, work, work.target))


def _containers_by_s(plan: Plan) -> float:
    """Of the time for copying, which only then can begin, at most half; without any they are asked for and not seen."""
    if plan.salvage_by_s is None:
        return plan.empty_by_s
    return plan.empty_by_s + min(CONTAINERS_S, (plan.salvage_by_s - plan.empty_by_s) / 2)


def _own_steps(work: Work) -> tuple[StopStep, ...]:
    try:
        return stop_steps(work.target.harness) if work.target else _UNKNOWN_HARNESS
    except KeyError:
        return _UNKNOWN_HARNESS


def _soon_s(work: Work) -> float:
    return work.elapsed_s() + QUICK_S


def _drain(work: Work, within_s: float) -> str:  # noqa: ARG001
    touch(work.world.draining, work.opened.id)
    return "the run is not started any more"


def _stop_resume(work: Work, within_s: float) -> str:
    """Before the run is stopped, or it would take that for a failure and start it again."""
    world = work.world
    left = _seen(
        told_once(
            world.members, RESUME_UNIT, SIGTERM, within_s - _LAST_WORD_S, world.clock, world.pause
        )
    )
    if left:
        raise Failed(f"{left} of its processes are still there")
    return "stopped"


def _tell_run(work: Work, step: StopStep, within_s: float) -> str:
    world = work.world
    left = _seen(
        told_once(
            world.members, RUN_UNIT, step.signum, within_s - _LAST_WORD_S, world.clock, world.pause
        )
    )
    return f"{left} left"


def _kill(work: Work, within_s: float) -> str:
    world = work.world
    done = _seen(killed(world.members, RUN_UNIT, within_s - _LAST_WORD_S, world.clock, world.pause))
    work.killed, work.stop_s = done.count, work.elapsed_s()
    if not done.empty:
        raise Failed(f"{done.count} killed, not seen empty twice")
    return f"{done.count} killed, empty"


def _containers(work: Work, target: Target, within_s: float) -> str:
    """The processes in a container are in no control group of ours: whoever may speak with Docker ends them."""
    world, ends_s = work.world, work.elapsed_s() + within_s - _LAST_WORD_S
    if not world.docker.exists():
        return "no Docker here"
    events = read_lines(target.paths.events).records
    since = first_start(events, work.opened.session)
    if since is None:
        return "this life of the machine started no run"
    ask_removal(world.remove_containers, Removal(target.containers, since, AGENT), world.clock())
    while work.elapsed_s() < ends_s:
        if not world.remove_containers.exists():
            return "removed"
        world.pause(_LOOK_EVERY_S)
    raise Failed("asked for, not removed in time")


def _salvage(work: Work, target: Target, within_s: float) -> str:
    until_s_ = work.elapsed_s() + within_s - _LAST_WORD_S
    folder = target.paths.interruptions / work.opened.id / SALVAGE
    files = _files(target)
    done = salvage(
        files,
        target.paths.work,
        folder,
        work.world.since_ns,
        lambda: work.elapsed_s() < until_s_,
    )
    work.salvaged = done.copied
    if done.failed:
        raise Failed(done.text())
    return done.text()


def _files(target: Target) -> tuple[Path, ...]:
    try:
        return salvage_files(target.harness, target.paths.work)
    except KeyError as error:
        raise Failed(f"harness {error}: nobody knows its files") from error


def _final(work: Work, target: Target, within_s: float) -> str:
    """Everything into the store: marker and records first, then finished episodes, smallest first."""
    world, ends_s = work.world, work.elapsed_s() + within_s - _LAST_WORD_S
    if world.members.members(FOLLOWER_UNIT) == frozenset():
        raise Failed("the publication follower does not run")
    asked = requests.ask(target.durable, FINAL, AGENT, within_s - _LAST_WORD_S, world.clock())
    while work.elapsed_s() < ends_s:
        answer = requests.answer(target.durable, asked)
        if isinstance(answer, Answer):
            work.final = answer
            return f"{answer.published} published, {answer.left} left"
        world.pause(_LOOK_EVERY_S)
    raise Failed("no answer in time")


def _seen(reading: Reading[T]) -> T:
    if isinstance(reading, Unreadable):
        raise Failed(reading.why)
    return reading
