"""What a placement yields: slot-hours, node-hours and money per completed episode, slots, draining, break-evens."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from spoteval.placement.numerics import poisson_at_most, root
from spoteval.placement.spot_math import Limited, interrupted_share, rerun_fresh

_STEPS = 2000
_TAILS = 9.0


def max_attempts(duration_h: float, tau_h: float, attempts: int) -> Limited:
    """At most so many fresh attempts, then settled as interrupted: done 1 - p^m, useful tau p (1-p^m)/(1-p)."""
    cut = interrupted_share(duration_h, tau_h)
    done = 1 - cut**attempts
    tries = done / (1 - cut) if cut < 1 else float(attempts)
    return Limited(done, tries, tau_h * cut * tries)


@dataclass(frozen=True, slots=True)
class Completed:
    """Per completed episode: hours of the node billed, and on the wall clock with waits for capacity."""

    node_h: float
    wall_h: float

    def cost(self, per_hour: float, disk_per_hour: float = 0.0) -> float:
        """The node while it is up, its disks all the time."""
        return per_hour * self.node_h + disk_per_hour * self.wall_h


def completed(
    duration_h: float, restart_h: float, tau_h: float, slots: float, wait_h: float = 0.0
) -> Completed:
    """N slots refilled at once: renewal gives N exp(-S/tau)/(exp(D/tau)-1) ends for each tau billed, so R/N."""
    node_h = rerun_fresh(duration_h, restart_h, tau_h).billed_h / slots
    return Completed(node_h, node_h * (1 + wait_h / tau_h))


@dataclass(frozen=True, slots=True)
class TwoNumbers:
    """Lives that cluster, in two numbers: a share of starts that die before ready, and useful time after it.

    `dead_h` is what such a start bills; `useful_tau_h` useful uptime per preemption after ready.
    """

    dead_share: float
    dead_h: float
    restart_h: float
    useful_tau_h: float

    @property
    def billed_over_useful(self) -> float:
        """[q b + (1-q)(S + tau_u)] / [(1-q) tau_u]."""
        lived = (1 - self.dead_share) * (self.restart_h + self.useful_tau_h)
        useful = (1 - self.dead_share) * self.useful_tau_h
        return (self.dead_share * self.dead_h + lived) / useful if useful else math.inf

    def node_h(self, duration_h: float, slots: float) -> float:
        """Per completed episode: the above times tau_u (exp(D/tau_u) - 1) / N."""
        useful = rerun_fresh(duration_h, 0.0, self.useful_tau_h).billed_h
        return self.billed_over_useful * useful / slots


@dataclass(frozen=True, slots=True)
class Lognormal:
    """Durations of episodes: median in hours, and sigma of their logarithm."""

    median_h: float
    sigma: float

    def mean(self, of: Callable[[float], float], limit_h: float = math.inf) -> float:
        """E[of(min(D, limit))], by the trapezoid rule over the normal density, where it has no error to speak of."""
        width = 2 * _TAILS / _STEPS
        points = (-_TAILS + index * width for index in range(_STEPS + 1))
        return math.fsum(self._at(z, of, limit_h) * width for z in points)

    def _at(self, z: float, of: Callable[[float], float], limit_h: float) -> float:
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return density * of(min(limit_h, self.median_h * math.exp(self.sigma * z)))


def first_try_share(durations: Lognormal, tau_h: float) -> float:
    """Interrupted at the first try: 1 - E[exp(-D/tau)]."""
    return durations.mean(lambda hours: interrupted_share(hours, tau_h))


def redrawn_slot_h(durations: Lognormal, tau_h: float) -> float:
    """Useful slot-hours where a rerun takes a new duration: tau (1-phi)/phi, phi = E[exp(-D/tau)]."""
    cut = first_try_share(durations, tau_h)
    return tau_h * cut / (1 - cut)


def same_slot_h(durations: Lognormal, tau_h: float, budget_h: float) -> float:
    """Useful slot-hours where each rerun takes as long: E[tau(exp(D/tau)-1)], finite by the budget alone."""
    return durations.mean(lambda hours: rerun_fresh(hours, 0.0, tau_h).billed_h, budget_h)


def survivor_mean_h(mean_h: float, tau_h: float) -> float:
    """Mean of exponential durations when the interrupted are dropped: m tau/(m+tau), shorter than the truth."""
    return mean_h * tau_h / (mean_h + tau_h)


@dataclass(frozen=True, slots=True)
class Slots:
    """The best number of slots for durations a + b N: exact, whole, the duration there, and episodes per hour."""

    exact: float
    whole: int
    duration_h: float
    rough_duration_h: float
    per_useful_h: float


def optimal_slots(fixed_h: float, per_slot_h: float, tau_h: float) -> Slots:
    """Most of N/(exp(D/tau)-1): 1 - exp(-D/tau) = b N/tau; for short episodes D is about sqrt(2 a tau).

    Written by the duration, bN = D - a: a root of 1 - exp(-D/tau) - (D-a)/tau. Contention alone (a = 0): one slot.
    """

    def rate(slots: float) -> float:
        return slots / (tau_h * math.expm1((fixed_h + per_slot_h * slots) / tau_h))

    def excess(slots: float) -> float:
        duration_h = fixed_h + per_slot_h * slots
        return interrupted_share(duration_h, tau_h) - per_slot_h * slots / tau_h

    exact = root(excess, 1e-9, tau_h / per_slot_h) if fixed_h else 1.0
    below = max(1, int(exact))
    whole = max(below, below + 1, key=rate)
    duration_h = fixed_h + per_slot_h * exact
    return Slots(exact, whole, duration_h, math.sqrt(2 * fixed_h * tau_h), rate(exact))


def notice_saves(duration_h: float, notice_h: float, tau_h: float, slots: float) -> float:
    """Episodes that end within a notice: N exp(-D/tau)(exp(n/tau)-1)/(1-exp(-D/tau)), n at most D."""
    ending = math.exp(-duration_h / tau_h) * math.expm1(min(notice_h, duration_h) / tau_h)
    return slots * ending / interrupted_share(duration_h, tau_h)


def drain_price_factor(duration_h: float, restart_h: float, tau_h: float) -> float:
    """A planned stop: let episodes end while price now / price later is below it."""
    return rerun_fresh(duration_h, restart_h, tau_h).overhead_factor


@dataclass(frozen=True, slots=True)
class Drain:
    """A planned stop that lets all in flight end: hours it takes, episodes saved, mean occupancy; killing loses."""

    node_h: float
    saved: float
    occupancy: float
    lost_slot_h: float


def drain(slots: float, duration_h: float) -> Drain:
    """Staggered slots of one duration: D node-hours at half occupancy save N; a kill loses N D/2 slot-hours."""
    return Drain(duration_h, slots, 0.5, slots * duration_h / 2)


def highest_price_ratio(duration_h: float, restart_h: float, tau_h: float) -> float:
    """Spot costs less per completed episode while spot / on-demand is below D/R."""
    return 1 / drain_price_factor(duration_h, restart_h, tau_h)


def shortest_tau_h(duration_h: float, restart_h: float, ratio: float) -> float:
    """The tau above which spot at this ratio of the on-demand price pays: R falls as tau grows."""

    def above(tau_h: float) -> float:
        return drain_price_factor(duration_h, restart_h, tau_h) - 1 / ratio

    return root(above, (duration_h + restart_h) / 500, 1e9)


def fewest_slots(
    per_hour: float, duration_h: float, restart_h: float, tau_h: float, api: float
) -> float:
    """Slots above which an own node costs less per episode than the API asks: N > c R / api."""
    return per_hour * rerun_fresh(duration_h, restart_h, tau_h).billed_h / api


def at_most_preemptions(up_h: float, tau_h: float, count: int) -> float:
    """Probability of at most so many preemptions in these hours up."""
    return poisson_at_most(count, up_h / tau_h)


@dataclass(frozen=True, slots=True)
class Range:
    """Money per completed episode: all hours at the lowest price, at the recorded ones, all at the highest."""

    low: float
    recorded: float
    high: float


def price_range(segments: Iterable[tuple[float, float]], episodes: int) -> Range:
    """From pairs of hours and price per hour."""
    known = tuple(segments)
    hours = math.fsum(length for length, _ in known)
    prices = [price for _, price in known]
    recorded = math.fsum(length * price for length, price in known)
    return Range(
        hours * min(prices) / episodes, recorded / episodes, hours * max(prices) / episodes
    )


def share_error(share: float, episodes: int, slots: int = 1) -> float:
    """Standard error of an interrupted share; all in flight die together, so it is sqrt(N) times the naive one."""
    return math.sqrt(slots * share * (1 - share) / episodes)
