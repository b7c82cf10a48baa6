"""Kaplan-Meier: the share of machines still up after a time, without any assumption on their law."""

import bisect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spoteval.placement.lifetime import Life


@dataclass(frozen=True, slots=True)
class Step:
    """From this age on: the share still up, its standard error (Greenwood), and how many were at risk."""

    hours: float
    share: float
    error: float
    at_risk: int


def kaplan_meier(lives: Iterable[Life]) -> tuple[Step, ...]:
    """S = prod(1 - d/n) over the ages with preemptions; censored at the same age are still at risk."""
    ordered = sorted((one.middle_h, not one.preempted) for one in lives)
    steps: list[Step] = []
    share, variance, at_risk, place = 1.0, 0.0, len(ordered), 0
    while place < len(ordered):
        age = ordered[place][0]
        same = bisect.bisect_right(ordered, (age, True), place) - place
        died = bisect.bisect_right(ordered, (age, False), place) - place
        if died:
            share *= 1 - died / at_risk
            left = at_risk * (at_risk - died)
            variance += died / left if left else 0.0
            steps.append(Step(age, share, share * math.sqrt(variance), at_risk))
        at_risk -= same
        place += same
    return tuple(steps)


def share_at(steps: Sequence[Step], hours: float) -> float:
    """The share still up at this age."""
    before = bisect.bisect_right([step.hours for step in steps], hours)
    return steps[before - 1].share if before else 1.0


def median_h(steps: Sequence[Step]) -> float | None:
    """The first age at which half are gone; None where the curve ends above (the longest life is censored)."""
    return next((step.hours for step in steps if step.share <= 0.5), None)
