"""Where to run: the decision table, with the workload's own numbers. Pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from spoteval.placement.policies import LONGEST_FIRST, View
from spoteval.placement.spot_math import Limited, Rerun, remaining_budget, rerun_fresh
from spoteval.placement.yields import highest_price_ratio, max_attempts, shortest_tau_h

LONG_H = 1.0
"""Episodes from here on are long: a preemption takes much of what a scored run is made of."""
FEW_HOURS_H = 6.0
"""A mean life up to here is "a few hours"."""
MINUTES_H = 10 / 60
"""Episodes up to here are minute-scale: what a preemption cuts is hardly worth a word."""
TAUS_H = (1.0, 2.0, 4.0, 8.0, 24.0)
"""What the table shows while tau is unknown."""


class Verdict(StrEnum):
    """Where."""

    FIXED = "on-demand, reserved or owned"
    SPOT = "spot"
    EXPLORATORY = "spot, labelled exploratory"
    HYBRID = "spot with an on-demand tail"


@dataclass(frozen=True, slots=True)
class Workload:
    """What was told, hours and money per hour. None: unknown, or not to be had."""

    episode_h: float
    restart_h: float
    slots: int
    tau_h: float | None
    scored: bool
    spot: float | None = None
    on_demand: float | None = None
    owned: float | None = None
    api_episode: float | None = None
    deadline_h: float | None = None
    work_h: float | None = None
    needs: tuple[str, ...] = ()
    currency: str = "USD"
    clustered: bool | None = None
    """Whether lives were seen to cluster; None where nothing was seen."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A row of the table that applies, and what follows from it."""

    row: str
    so: str


@dataclass(frozen=True, slots=True)
class Advice:
    """The decision, the rows that made it, and what is to be done first."""

    verdict: Verdict
    reasons: tuple[Reason, ...]
    first: tuple[Reason, ...]


def advice(work: Workload) -> Advice:
    """The first row that applies decides; what has to be probed or compared first stands apart."""
    return Advice(*_decided(work), tuple(_first(work)))


def _decided(work: Workload) -> tuple[Verdict, tuple[Reason, ...]]:
    d, s, tau = work.episode_h, work.restart_h, work.tau_h
    if tau is not None and tau < s + d:
        lost = f"tau {tau:.2f} h is below restart and episode, {s + d:.2f} h"
        return Verdict.FIXED, (Reason(lost, "long episodes are not feasible on spot"),)
    if work.scored and d >= LONG_H and (tau is None or tau <= FEW_HOURS_H):
        known = "tau is unknown" if tau is None else f"tau is a few hours ({tau:.1f} h)"
        return Verdict.FIXED, (Reason(f"scored, episodes of {d:.2f} h, {known}", "no spot"),)
    if not work.scored or d <= MINUTES_H:
        what = "episodes of minutes" if d <= MINUTES_H else "a pilot: not scored"
        return _cheaper(work, Verdict.EXPLORATORY, Reason(what, "spot, and say so in the result"))
    return _cheaper(work, Verdict.SPOT, Reason("neither too long nor too rare", "by price"))


def _cheaper(work: Workload, verdict: Verdict, why: Reason) -> tuple[Verdict, tuple[Reason, ...]]:
    """Spot only below the break-even; a deadline makes its tail on demand."""
    reasons = [why]
    if work.tau_h is not None and work.spot is not None and work.on_demand:
        ratio, most = work.spot / work.on_demand, spot_ratio(work)
        if ratio >= most:
            told = f"spot costs {ratio:.2f} of on demand, and pays only below {most:.2f}"
            return Verdict.FIXED, (*reasons, Reason(told, "on demand is cheaper per episode"))
        reasons.append(
            Reason(f"spot costs {ratio:.2f} of on demand, pays below {most:.2f}", "spot")
        )
    if work.deadline_h is not None:
        reasons.append(Reason("a deadline", "the tail needs a machine that is never preempted"))
        return Verdict.HYBRID, tuple(reasons)
    return verdict, tuple(reasons)


def _first(work: Workload) -> Iterator[Reason]:
    if work.needs:
        needs = ", ".join(work.needs)
        yield Reason(
            f"it needs {needs}", "probe a node for that first (spoteval check, on the guest)"
        )
    if work.api_episode is not None:
        yield Reason("a hosted API serves the same weights", _against_api(work, work.api_episode))
    if work.tau_h is None:
        yield Reason("tau is unknown", "a pilot of a day, then spoteval tau")


def _against_api(work: Workload, api: float) -> str:
    """Which is cheaper per episode, where that is known."""
    own = [one for one in prices(work, work.tau_h or math.inf) if one.node_h is not None]
    if not own or (work.tau_h is None and work.on_demand is None and work.owned is None):
        return "compare blended token prices first (spoteval math tokens)"
    fixed = [one for one in own if work.tau_h is not None or one.place != "spot"]
    least = min(fixed, key=lambda one: one.each)
    word = "cheaper" if api < least.each else "dearer"
    return f"per episode it is {word} than {least.place}, {api:.3g} to {least.each:.3g}"


def spot_ratio(work: Workload) -> float:
    """The highest spot / on-demand at which spot pays; 0 where tau is unknown."""
    if work.tau_h is None:
        return 0.0
    return highest_price_ratio(work.episode_h, work.restart_h, work.tau_h)


def least_tau_h(work: Workload) -> float | None:
    """The tau above which spot pays at these prices; None where a price is missing, or spot is not cheaper at all."""
    if work.spot is None or not work.on_demand or not 0 < work.spot < work.on_demand:
        return None
    return shortest_tau_h(work.episode_h, work.restart_h, work.spot / work.on_demand)


@dataclass(frozen=True, slots=True)
class Price:
    """Money per completed episode at one placement; node-hours where a node is ours."""

    place: str
    each: float
    node_h: float | None = None


def prices(work: Workload, tau_h: float) -> tuple[Price, ...]:
    """Of all placements whose price is known."""
    spot_h = rerun(work, tau_h).billed_h / work.slots if tau_h < math.inf else math.inf
    whole_h = work.episode_h / work.slots
    nodes = (
        ("spot", work.spot, spot_h),
        ("on demand", work.on_demand, whole_h),
        ("owned", work.owned, whole_h),
    )
    found = [Price(place, rate * hours, hours) for place, rate, hours in nodes if rate is not None]
    api = [] if work.api_episode is None else [Price("hosted API", work.api_episode)]
    return (*found, *api)


def rerun(work: Workload, tau_h: float) -> Rerun:
    """Reruns from scratch at this tau."""
    return rerun_fresh(work.episode_h, work.restart_h, tau_h)


def settlements(work: Workload, tau_h: float) -> tuple[tuple[str, Limited], ...]:
    """What each way to settle a cut episode completes, and the useful slot-hours that it takes."""
    d = work.episode_h
    fresh = rerun_fresh(d, 0.0, tau_h)
    return (
        ("fresh budget, until it ends", Limited(1.0, fresh.attempts, fresh.billed_h)),
        ("fresh budget, three attempts", max_attempts(d, tau_h, 3)),
        ("remaining budget of 1.5 durations", remaining_budget(d, 1.5 * d, tau_h)),
        ("remaining budget of 2 durations", remaining_budget(d, 2 * d, tau_h)),
        ("not run again", max_attempts(d, tau_h, 1)),
    )


def net_h(work: Workload) -> float:
    """Hours before the deadline, beyond the work that is left, at which the tail goes on demand."""
    idle = View(
        left_h=math.inf,
        work_h=0.0,
        mean_h=work.episode_h,
        p90_h=2 * work.episode_h,
        longest_h=0.0,
        restart_h=work.restart_h,
        offered=False,
        spot=False,
        spot_ready=False,
        on_demand=False,
        on_demand_ready=False,
        waiting=0,
    )
    return work.restart_h + LONGEST_FIRST.hours(idle)
