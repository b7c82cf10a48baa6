"""The formulas against machines that are simulated by drawing their lives: seeded, within four standard errors."""

import math
import statistics
from collections.abc import Callable, Iterator
from random import Random

import pytest

from spoteval.placement import spot_math, yields
from spoteval.placement.weibull import Weibull

DRAWS = 4000
CASES = [(0.5, 0.0, 2.0), (0.5, 1 / 3, 2.0), (1.0, 0.25, 4.0), (2.0, 0.5, 2.5)]


def agrees(expected: float, draws: list[float]) -> bool:
    """The mean of the draws lies within four of its standard errors, and they are no single number."""
    error = statistics.stdev(draws) / math.sqrt(len(draws))
    return error > 0 and abs(statistics.fmean(draws) - expected) <= 4 * error


def drawn(seed: int, once: Callable[[Random], float]) -> list[float]:
    """One figure of each simulated case."""
    random = Random(seed)
    return [once(random) for _ in range(DRAWS)]


def billed_h(random: Random, duration_h: float, restart_h: float, tau_h: float) -> float:
    """From a ready machine until one episode has ended by itself."""
    life_h, total_h = random.expovariate(1 / tau_h), 0.0
    need_h = duration_h
    while life_h < need_h:
        total_h += life_h
        life_h, need_h = random.expovariate(1 / tau_h), restart_h + duration_h
    return total_h + need_h


@pytest.mark.parametrize(("duration_h", "restart_h", "tau_h"), CASES)
def test_chance_billed_hours(duration_h: float, restart_h: float, tau_h: float) -> None:
    """R = tau exp(S/tau) (exp(D/tau) - 1), since a slot that starts over is ready again only after S."""
    found = drawn(1, lambda random: billed_h(random, duration_h, restart_h, tau_h))
    assert agrees(spot_math.rerun_fresh(duration_h, restart_h, tau_h).billed_h, found)


@pytest.mark.parametrize(
    ("duration_h", "budget_h", "tau_h"), [(1, 1.5, 2), (1, 3.3, 1), (0.5, 1.2, 1)]
)
def test_chance_remaining_budget(duration_h: float, budget_h: float, tau_h: float) -> None:
    """Whether it ends by itself, and what it used."""

    def once(random: Random) -> tuple[float, float]:
        left = budget_h
        while left >= duration_h:
            life_h = random.expovariate(1 / tau_h)
            if life_h >= duration_h:
                return 1.0, budget_h - left + duration_h
            left -= life_h
        # what is left is too short: it runs on, cut or not, until the budget is gone
        return 0.0, budget_h

    random = Random(2)
    found = [once(random) for _ in range(DRAWS)]
    ours = spot_math.remaining_budget(duration_h, budget_h, tau_h)
    assert agrees(ours.completed, [done for done, _ in found])
    assert agrees(ours.slot_h, [used for _, used in found])


@pytest.mark.parametrize("spare", [0.0, 1.0, 7.5, 60.0])
def test_chance_the_series_keeps_its_digits(spare: float) -> None:
    """Its terms grow as exp(s/tau): with plain floats the last of these was off by more than its value."""
    ours = spot_math.remaining_budget(1.0, 1.0 + spare, 1.0)
    assert 0 < ours.completed <= 1
    assert 1.0 <= ours.slot_h <= spot_math.rerun_fresh(1.0, 0.0, 1.0).billed_h + 1e-9


@pytest.mark.parametrize(("attempts", "tau_h"), [(1, 2.0), (3, 2.0), (4, 0.7)])
def test_chance_limited_attempts(attempts: int, tau_h: float) -> None:
    """Useful hours of at most so many attempts of one hour."""

    def once(random: Random) -> float:
        total = 0.0
        for _ in range(attempts):
            life_h = random.expovariate(1 / tau_h)
            total += min(1.0, life_h)
            if life_h >= 1.0:
                break
        return total

    assert agrees(yields.max_attempts(1.0, tau_h, attempts).slot_h, drawn(3, once))


@pytest.mark.parametrize("shape", [0.4, 0.7, 1.3])
def test_chance_weibull_risk_of_a_random_moment(shape: float) -> None:
    """By E[min(T, D)] / E[T], drawn; and a fresh machine's by counting."""
    law = Weibull(shape, 1.6, 0.0, 1.0)
    lives = drawn(4, lambda random: random.weibullvariate(1.6, shape))
    assert agrees(law.steady(0.5), [min(life, 0.5) / law.mean_h for life in lives])
    assert agrees(law.fresh(0.5), [float(life < 0.5) for life in lives])


@pytest.mark.parametrize("slots", [1, 16])
def test_chance_node_hours_of_slots_refilled_at_once(slots: int) -> None:
    """Episodes that a life completes, by the hours it is billed for: the ratio of two means."""

    def lives() -> Iterator[tuple[float, int]]:
        random = Random(5)
        for _ in range(10 * DRAWS):
            life_h = random.expovariate(1 / 2.0)
            yield life_h, slots * max(0, int((life_h - 1 / 3) / 0.5))

    found = list(lives())
    hours, ends = math.fsum(h for h, _ in found), sum(n for _, n in found)
    ours = yields.completed(0.5, 1 / 3, 2.0, slots).node_h
    assert hours / ends == pytest.approx(ours, rel=0.03)


@pytest.mark.parametrize("limit_h", [0.4, math.inf])
def test_chance_lognormal_mean(limit_h: float) -> None:
    """The trapezoid rule against draws."""
    durations = yields.Lognormal(0.5, 0.6)
    found = drawn(6, lambda random: min(limit_h, random.lognormvariate(math.log(0.5), 0.6)))
    assert agrees(durations.mean(lambda hours: hours, limit_h), found)


def test_chance_more_slots_than_the_best_yield_less() -> None:
    """The best number is one: neighbours on both sides complete less per useful hour."""
    best = yields.optimal_slots(0.3, 0.02, 2.0)

    def rate(slots: int) -> float:
        return spot_math.finished_per_preemption(slots, 0.3 + 0.02 * slots, 2.0) / 2.0

    assert rate(best.whole - 1) < rate(best.whole) > rate(best.whole + 1)
    assert yields.optimal_slots(0.0, 0.02, 2.0).whole == 1
