"""The spot market of the local cloud, pure: what happens follows from seed, phases so far and time in phase.

No clock, no state, no file. A driver of processes, a virtual world and fake clouds ask the same
market and see the same weather.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Literal, Protocol

PhaseName = Literal[
    "stopped", "refused", "starting", "running", "resuming", "serving", "noticed", "stopping"
]
EventKind = Literal["running", "no-capacity", "notice", "power-button", "plug"]
UP: frozenset[PhaseName] = frozenset(["running", "resuming", "serving"])


@dataclass(frozen=True, slots=True)
class Phase:
    """One stretch of an instance's life. A history is a tuple of them; its last one is going on.

    `running` begins with the machine, `resuming` with boot-resume's first stage, `serving` with the
    run's first episode, `noticed` with a notice. `refused` is a start that was turned down at
    once: it has no length. `cause` of a stopping or stopped phase: preempted, guest, user, or None.
    """

    name: PhaseName
    length_s: float = 0.0  # of a phase that is over
    cause: str | None = None


History = tuple[Phase, ...]
NEW: History = (Phase("stopped"),)


@dataclass(frozen=True, slots=True)
class Event:
    """What the market does, `at_s` seconds into the phase. `window_s`: what a notice leaves."""

    kind: EventKind
    at_s: float
    window_s: float = 0.0


@dataclass(frozen=True, slots=True)
class StartAnswer:
    """How a start call is answered, and what comes of it, which need not be the same.

    A start that is not `begins` leaves the instance stopped; one that begins runs after `after_s`
    seconds, or without `runs` finds no capacity and is stopped again.
    """

    status: int
    error: str | None
    begins: bool
    runs: bool
    after_s: float


@dataclass(frozen=True, slots=True)
class Strike:
    """One preemption: a notice `at_s` into a phase (or none, and the plug), then what ends its window."""

    at_s: float
    noticed: bool
    button: bool


class Weather(Protocol):
    """What a profile decides; each answer is a function of the seed and what it is asked."""

    def start(self, seed: int, attempt: int) -> StartAnswer:
        """The answer to the start call with this number, from 0."""
        ...

    def strike(self, seed: int, history: History) -> Strike | None:
        """The preemption that comes in the phase going on, if it lasts until then."""
        ...

    @property
    def window_s(self) -> float:
        """Seconds between a notice and its deadline."""
        ...


@dataclass(frozen=True, slots=True)
class Market:
    """A seed and the weather it is used in."""

    seed: int
    weather: Weather = field(compare=False)
    button_s: float = 2.0  # between the power button and the plug, whatever still runs
    price: tuple[float, float] = (3.10, 3.60)


def next_event(market: Market, history: History, in_phase_s: float) -> Event | None:
    """The event that is due at or before `in_phase_s` seconds of the phase going on; None if none is."""
    event = coming_event(market, history)
    return event if event is not None and event.at_s <= in_phase_s else None


def coming_event(market: Market, history: History) -> Event | None:
    """The one event that the phase going on will see if nothing else ends it before."""
    phase = history[-1]
    if phase.name == "starting":
        answer = market.weather.start(market.seed, attempts(history) - 1)
        return Event("running" if answer.runs else "no-capacity", answer.after_s)
    if phase.name == "noticed":
        button = _ends_with_button(market, history[:-1])
        return Event("power-button" if button else "plug", market.weather.window_s)
    if phase.name == "stopping" and phase.cause == "preempted":
        return Event("plug", market.button_s)
    if phase.name in UP:
        return _first_blow(market, history)
    return None


def answer_to_start(market: Market, history: History) -> StartAnswer:
    """The answer to a start call that reaches a stopped instance now."""
    return market.weather.start(market.seed, attempts(history))


def price(market: Market, history: History) -> float:
    """Dollars an hour: of this life while it lasts, of the next start while stopped."""
    is_down = history[-1].name in ("stopped", "refused")
    draw = drawn(market.seed, "price", attempts(history) - (0 if is_down else 1))
    return round(draw.uniform(*market.price), 2)


def attempts(history: History) -> int:
    """Start calls that reached a stopped instance so far."""
    return sum(phase.name in ("refused", "starting") for phase in history)


def boots(history: History) -> int:
    """Lives that reached RUNNING so far, the one going on included."""
    return sum(phase.name == "running" for phase in history)


def preemptions(history: History) -> tuple[PhaseName, ...]:
    """For each preemption so far, in which phase of its life it struck: running, resuming or serving."""
    struck: list[PhaseName] = []
    up: PhaseName = "running"
    for phase in history:
        if phase.name in UP:
            up = phase.name
        elif phase.name == "stopped" and phase.cause == "preempted":
            struck.append(up)
    return tuple(struck)


def up_s(history: History) -> float:
    """Seconds that the life going on had lasted when its last phase began."""
    total_s = 0.0
    for phase in history[:-1]:
        total_s = 0.0 if phase.name in ("stopped", "refused", "starting") else total_s
        total_s += phase.length_s if phase.name in UP else 0.0
    return total_s


def drawn(seed: int, what: str, number: int = 0) -> Random:
    """A generator that gives the same for the same seed, question and number on every machine."""
    return Random(f"{seed}/{what}/{number}")


def _first_blow(market: Market, history: History) -> Event | None:
    strike = market.weather.strike(market.seed, history)
    if strike is None:
        return None
    if strike.noticed:
        return Event("notice", strike.at_s, market.weather.window_s)
    return Event("plug", strike.at_s)


def _ends_with_button(market: Market, before: History) -> bool:
    """As the strike says that the notice came from; where none is planned, the gentle way."""
    strike = market.weather.strike(market.seed, before)
    return strike is None or strike.button
