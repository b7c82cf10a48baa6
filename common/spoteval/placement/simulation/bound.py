"""What nobody can beat: an omniscient packing without any waste; and a plan that knows all and could be carried out."""

import heapq
import math
from collections.abc import Callable, Iterable, Sequence

from spoteval.placement.simulation.engine import Job
from spoteval.placement.simulation.market import Market, Spell


def bound(job: Job, market: Market) -> float:
    """The least cost: work packed without a gap into the k longest spells, the rest on demand, a start for each.

    The best k is taken. Spells of all zones may be used at once, so that no number of nodes beats it.
    """
    work_h, restart_h = job.work_h, job.restart_h
    best = (work_h + restart_h) * job.on_demand_price
    used, useful = 0.0, 0.0
    for low, high in _longest(market):
        gain = high - low - restart_h
        if gain <= 0:
            break
        if useful + gain >= work_h:
            last = used + restart_h + work_h - useful
            return min(best, last * job.spot_price)
        used, useful = used + high - low, useful + gain
        rest = (work_h - useful + restart_h) * job.on_demand_price
        best = min(best, used * job.spot_price + rest)
    return best


def clairvoyant(job: Job, market: Market) -> float:
    """A plan with whole episodes that knows every duration and spell, and powers each node off in time.

    Of the longest spells all but the last are filled tightly; it takes the rest evenly; what does not fit is on demand.
    The best number of spells is taken.
    """
    left = sorted(job.durations, reverse=True)
    spent, best = 0.0, _on_demand(job, left)
    for low, high in _longest(market):
        room_h = high - low - job.restart_h
        if room_h <= 0 or not left:
            break
        last_h, rest = _filled(left, job.slots, room_h, _emptiest)
        best = min(best, spent + _spot(job, last_h) + _on_demand(job, rest))
        busy_h, left = _filled(left, job.slots, room_h, _tightest)
        spent += _spot(job, busy_h)
    return best if left else min(best, spent)


def _spot(job: Job, busy_h: float) -> float:
    return (busy_h + job.restart_h) * job.spot_price if busy_h > 0 else 0.0


def _on_demand(job: Job, left: Sequence[float]) -> float:
    """What does not fit into spells."""
    if not left:
        return 0.0
    free = [0.0] * job.slots
    for duration in left:
        heapq.heapreplace(free, free[0] + duration)
    return (max(free) + job.restart_h) * job.on_demand_price


Place = Callable[[Sequence[float], float], int | None]


def _filled(
    ordered: Iterable[float], slots: int, room_h: float, place: Place
) -> tuple[float, list[float]]:
    """When the last slot of a node ends, and what did not fit."""
    free, left = [room_h] * slots, []
    used = [0.0] * slots
    for duration in ordered:
        slot = place(free, duration)
        if slot is None:
            left.append(duration)
        else:
            free[slot] -= duration
            used[slot] += duration
    return max(used), left


def _emptiest(free: Sequence[float], duration: float) -> int | None:
    """The slot with the most room, if it holds it."""
    most = max(free)
    return free.index(most) if most >= duration else None


def _tightest(free: Sequence[float], duration: float) -> int | None:
    """The slot with the least room that still holds it."""
    fitting = [(room, place) for place, room in enumerate(free) if room >= duration]
    return min(fitting)[1] if fitting else None


def _longest(market: Market) -> list[Spell]:
    spells = [spell for zone in market for spell in zone.spells]
    return sorted(spells, key=lambda spell: spell[0] - spell[1])


def share_of_on_demand(job: Job) -> float:
    """What the work costs on demand alone, packed without a gap: the measure of every ratio to on-demand."""
    return (job.work_h + job.restart_h) * job.on_demand_price if job.durations else math.nan
