"""How long machines live on this pool: every figure of `spoteval tau`, from lives alone. Pure."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spoteval.placement.lifetime import Exposure, Life, exposure, spread, widened
from spoteval.placement.survival import Step, kaplan_meier, median_h, share_at
from spoteval.placement.uptimes import LEFT_OUT, Uptime, after_ready, lives
from spoteval.placement.weibull import FEWEST_EVENTS, Weibull, fit
from spoteval.placement.yields import TwoNumbers

AGES_H = (0.0, 1 / 3, 1.0, 4.0, 12.0, math.inf)
"""Bounds of the ages for which the risk is told apart."""


@dataclass(frozen=True, slots=True)
class AtAge:
    """Hours up between two ages of a machine, and preemptions in them."""

    low_h: float
    high_h: float
    seen: Exposure


@dataclass(frozen=True, slots=True)
class Starts:
    """Starts whose way to a ready server could be followed, those that died on it, and useful time after it."""

    count: int
    dead: int
    dead_h: float
    ready_h: float
    useful: Exposure
    assumed: bool = False
    """Whether `ready_h` was given and not seen."""

    @property
    def dead_share(self) -> float:
        """Of starts that ended in a preemption before ready; among those whose fate is known."""
        return self.dead / self.count if self.count else math.nan

    @property
    def two_numbers(self) -> TwoNumbers | None:
        """The model of two numbers; None where nothing was ever preempted after ready."""
        if not self.count or not self.useful.preemptions:
            return None
        return TwoNumbers(self.dead_share, self.dead_h, self.ready_h, self.useful.tau_h)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a sample of lives says about the pool."""

    lives: int
    seen: Exposure
    interval_h: tuple[float, float]
    widened_h: tuple[float, float]
    steps: tuple[Step, ...]
    law: Weibull | None
    ages: tuple[AtAge, ...]
    starts: Starts | None

    @property
    def judged(self) -> bool:
        """Whether there are events enough to judge clustering."""
        return self.law is not None and self.seen.preemptions >= FEWEST_EVENTS

    @property
    def clustered(self) -> bool | None:
        """Whether lives cluster; None where the sample is too small to say."""
        return self.law.clustered if self.judged and self.law is not None else None

    @property
    def median_h(self) -> float | None:
        """Of lives; None where half of them outlived the watch."""
        return median_h(self.steps)

    @property
    def fresh_risk(self) -> float | None:
        """The share of machines that die in their first 20 minutes; None without a preemption."""
        return 1 - share_at(self.steps, AGES_H[1]) if self.steps else None


def estimate(sample: Sequence[Life], starts: Starts | None = None) -> Estimate:
    """All figures. Raises ValueError for a sample without a single hour."""
    seen = exposure(sample)
    if not seen.hours > 0:
        raise ValueError("no uptime to judge: not one life of more than 0 s")
    interval_h = seen.interval_h()
    law = fit(sample)
    clustered = law is not None and law.clustered and seen.preemptions >= FEWEST_EVENTS
    factor = spread(sample) if clustered else 1.0
    return Estimate(
        lives=len(sample),
        seen=seen,
        interval_h=interval_h,
        widened_h=widened(seen.tau_h, interval_h, factor),
        steps=kaplan_meier(sample),
        law=law,
        ages=by_age(sample),
        starts=starts,
    )


def by_age(sample: Sequence[Life]) -> tuple[AtAge, ...]:
    """Hours and preemptions in each stretch of age; a preemption at a bound belongs to the younger one."""
    bounds = itertools.pairwise(AGES_H)
    return tuple(AtAge(low, high, _between(sample, low, high)) for low, high in bounds)


def _between(sample: Iterable[Life], low: float, high: float) -> Exposure:
    hours, count = [], 0
    for one in sample:
        ended = one.middle_h
        if ended > low or (ended == low == 0):
            hours.append(min(ended, high) - low)
            count += one.preempted and ended <= high
    return Exposure(math.fsum(hours), count)


def starts_seen(found: Sequence[Uptime]) -> Starts | None:
    """By what guests and restarter said of readiness; None where neither ever said anything.

    A start that something else ended before it was ready says nothing about its fate and is not counted.
    """
    told = [one for one in found if one.counted != LEFT_OUT and one.reports_ready]
    ready = [one for one in told if one.ready_h is not None]
    dead = [one for one in told if one.ready_h is None and one.life.preempted]
    if not ready and not dead:
        return None
    waits = [one.ready_h for one in ready if one.ready_h is not None]
    return Starts(
        count=len(ready) + len(dead),
        dead=len(dead),
        dead_h=_mean([one.life.middle_h for one in dead]),
        ready_h=_mean(waits),
        useful=exposure(after_ready(told)),
    )


def starts_assumed(sample: Sequence[Life], restart_h: float) -> Starts:
    """As if every start took this long until ready: lives as long as that or longer got there."""
    ready = [one for one in sample if one.middle_h >= restart_h]
    dead = [one for one in sample if one.middle_h < restart_h and one.preempted]
    useful = math.fsum(one.middle_h - restart_h for one in ready)
    return Starts(
        count=len(ready) + len(dead),
        dead=len(dead),
        dead_h=_mean([one.middle_h for one in dead]),
        ready_h=restart_h,
        useful=Exposure(useful, sum(one.preempted for one in ready)),
        assumed=True,
    )


def of_uptimes(found: Sequence[Uptime], restart_h: float | None = None) -> Estimate:
    """Of a log: readiness as it was told, or as it is assumed."""
    sample = lives(found)
    starts = starts_seen(found) if restart_h is None else starts_assumed(sample, restart_h)
    return estimate(sample, starts)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
