"""What the driver of a local node does next: pure, from the market, the history and what is seen."""

from dataclasses import dataclass
from typing import Literal

from spoteval.local.cloud import Request
from spoteval.local.market import (
    UP,
    Event,
    History,
    Market,
    Phase,
    PhaseName,
    answer_to_start,
    next_event,
)

Deed = Literal["boot", "notice", "button", "plug", "off"]

STATES: dict[PhaseName, str] = {
    "stopped": "STOPPED",
    "refused": "STOPPED",
    "starting": "STARTING",
    "running": "RUNNING",
    "resuming": "RUNNING",
    "serving": "RUNNING",
    "noticed": "RUNNING",
    "stopping": "STOPPING",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One look at the node: how long the phase has gone on, and what has come up meanwhile."""

    in_phase_s: float
    request: Request | None = None
    resume_began: bool = False
    first_episode: bool = False
    poweroff_asked: bool = False
    units_down: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the phases that begin (the last one stays), what is done, what is answered, what it is called."""

    what: str
    phases: tuple[Phase, ...] = ()
    deed: Deed | None = None
    window_s: float = 0.0
    answer: tuple[int, str | None] | None = None


def decide(market: Market, history: History, seen: Seen) -> Step | None:
    """The next step, first match wins; None while all goes on as it is."""
    phase = history[-1]
    event = next_event(market, history, seen.in_phase_s)
    if seen.request is not None:
        return _obey(market, history, seen.request)
    if event is not None:
        return _blow(event)
    if phase.name == "stopping" and seen.units_down:
        return Step("stopped", (Phase("stopped", cause=phase.cause),), "off")
    if seen.poweroff_asked and phase.name in UP | {"noticed"}:
        return Step("power-off", (Phase("stopping", cause="guest"),), "button")
    if phase.name == "running" and seen.resume_began:
        return Step("resuming", (Phase("resuming"),))
    if phase.name == "resuming" and seen.first_episode:
        return Step("serving", (Phase("serving"),))
    return None


def _obey(market: Market, history: History, request: Request) -> Step:
    if request.verb == "start":
        return _start(market, history)
    if request.verb == "stop":
        return _stop(history[-1])
    return Step("damaged-request", answer=(400, "the request cannot be read"))


def _start(market: Market, history: History) -> Step:
    state = STATES[history[-1].name]
    if state != "STOPPED":
        return Step("start-conflict", answer=(409, f"the instance is {state}"))
    answer = answer_to_start(market, history)
    if answer.begins:
        said = (answer.status, answer.error)
        return Step("start-asked", (Phase("starting"),), answer=said)
    return Step(
        "capacity", (Phase("refused"), Phase("stopped")), answer=(answer.status, answer.error)
    )


def _stop(phase: Phase) -> Step:
    if phase.name in UP | {"noticed"}:
        stopping = Phase("stopping", cause="user")
        return Step("stop-asked", (stopping,), "button", answer=(200, None))
    if phase.name == "starting":
        return Step("stop-asked", (Phase("stopped", cause="user"),), "off", answer=(200, None))
    return Step("stop-asked", answer=(200, None))


def _blow(event: Event) -> Step:
    if event.kind == "running":
        return Step("running", (Phase("running"),), "boot")
    if event.kind == "no-capacity":
        return Step("capacity", (Phase("stopped"),), "off")
    if event.kind == "notice":
        return Step("notice", (Phase("noticed"),), "notice", event.window_s)
    if event.kind == "power-button":
        return Step("power-button", (Phase("stopping", cause="preempted"),), "button")
    return Step("plug", (Phase("stopped", cause="preempted"),), "plug")
