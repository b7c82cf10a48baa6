"""Profiles of the market: the demo's four lives, no weather at all, and lives of Weibull shape."""

import math
from dataclasses import dataclass
from random import Random

from spoteval.local.market import (
    History,
    StartAnswer,
    Strike,
    Weather,
    boots,
    drawn,
    preemptions,
    up_s,
)

PROFILES = ("demo", "calm", "weibull")
_NO_CAPACITY = "UNAVAILABLE: no capacity for this type in this zone"
_INTERNAL = "INTERNAL: the operation was not acknowledged"
_BOOT_S = (1.5, 3.0)  # from an accepted start to RUNNING


@dataclass(frozen=True, slots=True)
class Calm:
    """Every start succeeds, nothing is ever taken."""

    window_s: float = 8.0

    def start(self, seed: int, attempt: int) -> StartAnswer:
        """Accepted, and running soon."""
        return _start("plain", drawn(seed, "start", attempt))

    def strike(self, seed: int, history: History) -> Strike | None:  # noqa: ARG002
        """Never."""
        return None


@dataclass(frozen=True, slots=True)
class Weibull:
    """Lives drawn from a Weibull distribution, counted from RUNNING; failures with a probability."""

    shape: float = 0.8
    scale_s: float = 4 * 3600.0
    no_capacity: float = 0.2
    call_fails: float = 0.05
    noticed: float = 0.9
    window_s: float = 60.0

    def start(self, seed: int, attempt: int) -> StartAnswer:
        """Refused for capacity, or answered with an error and begun, or accepted."""
        draw = drawn(seed, "start", attempt)
        luck = draw.random()
        if luck < self.no_capacity:
            return _start(draw.choice(["refused", "withdrawn"]), draw)
        return _start("error" if luck < self.no_capacity + self.call_fails else "plain", draw)

    def strike(self, seed: int, history: History) -> Strike | None:
        """The end of the life that was drawn when it began, wherever it has got to by then."""
        draw = drawn(seed, "life", boots(history))
        life_s = self.scale_s * (-math.log(1.0 - draw.random())) ** (1.0 / self.shape)
        noticed, button = draw.random() < self.noticed, draw.random() < 0.9
        return Strike(max(0.0, life_s - up_s(history)), noticed, button)


@dataclass(frozen=True, slots=True)
class Plan:
    """What one demo has in store: how start calls end, and the preemptions by the phase they strike in."""

    starts: tuple[str, ...]
    serving: tuple[Strike, ...]
    resuming: Strike
    resuming_boot: int  # the first life, from 1, that may be struck while it resumes


@dataclass(frozen=True, slots=True)
class Demo:
    """Three or four preemptions, then peace: the demo must end.

    For every seed exactly one strikes while resuming, at least one comes with a notice and one
    without, at least one start finds no capacity, and at least one start call fails while the
    start goes on. A life must serve for 8 s, and resume for 4, to meet what is in store for it.
    """

    window_s: float = 8.0

    def start(self, seed: int, attempt: int) -> StartAnswer:
        """As planned; accepted once the plan is used up."""
        starts = demo_plan(seed).starts
        kind = starts[attempt] if attempt < len(starts) else "plain"
        return _start(kind, drawn(seed, "start", attempt))

    def strike(self, seed: int, history: History) -> Strike | None:
        """The next preemption of the kind that fits the phase going on."""
        plan, struck, phase = demo_plan(seed), preemptions(history), history[-1].name
        resumed = struck.count("resuming")
        if phase == "resuming":
            due = resumed == 0 and boots(history) >= plan.resuming_boot
            return plan.resuming if due else None
        number = len(struck) - resumed
        served = phase == "serving" and number < len(plan.serving)
        return plan.serving[number] if served else None


def weather(profile: str) -> Weather:
    """The weather of a profile: demo, calm, weibull or weibull:SHAPE:SCALE_SECONDS; raises ValueError."""
    name, _, rest = profile.partition(":")
    if name == "weibull" and rest:
        shape, _, scale_s = rest.partition(":")
        return Weibull(float(shape), float(scale_s))
    known: dict[str, Weather] = {"demo": Demo(), "calm": Calm(), "weibull": Weibull()}
    if profile not in known:
        raise ValueError(f'profile "{profile}": must be {" | ".join(PROFILES)}')
    return known[profile]


def demo_plan(seed: int) -> Plan:
    """What the demo with this seed has in store."""
    draw = drawn(seed, "demo")
    preempted = draw.choice([3, 4])
    return Plan(
        starts=_demo_starts(draw, lives=preempted + 1),
        serving=_demo_serving(draw, preempted - 1),
        resuming=Strike(draw.uniform(1.0, 4.0), draw.random() < 0.5, draw.random() < 0.5),
        resuming_boot=draw.randint(2, preempted),
    )


def _demo_starts(draw: Random, lives: int) -> tuple[str, ...]:
    """One start for each life, some answered with an error; before some, a failure to find capacity.

    The first start is a person's and goes well: what the restarter does is what the demo shows.
    """
    failing = set(draw.sample(range(1, lives), draw.choice([1, 1, 2])))
    without = set(draw.sample(range(1, lives), draw.choice([1, 1, 2])))
    starts: list[str] = []
    for life in range(lives):
        if life in without:
            starts.append(draw.choice(["refused", "withdrawn"]))
        starts.append("error" if life in failing else "plain")
    return tuple(starts)


def _demo_serving(draw: Random, number: int) -> tuple[Strike, ...]:
    """One with notice and power button, one pulled plug, the others as they come, in any order."""
    kinds = [(True, True), (False, False)]
    kinds += [(draw.random() < 0.75, draw.random() < 0.7) for _ in range(number - 2)]
    draw.shuffle(kinds)
    return tuple(Strike(draw.uniform(5.0, 8.0), noticed, button) for noticed, button in kinds)


def _start(kind: str, draw: Random) -> StartAnswer:
    after_s = draw.uniform(*_BOOT_S)
    if kind == "refused":
        return StartAnswer(503, _NO_CAPACITY, begins=False, runs=False, after_s=0.0)
    if kind == "withdrawn":
        return StartAnswer(200, None, begins=True, runs=False, after_s=after_s)
    if kind == "error":
        return StartAnswer(500, _INTERNAL, begins=True, runs=True, after_s=after_s)
    return StartAnswer(200, None, begins=True, runs=True, after_s=after_s)
