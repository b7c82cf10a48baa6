"""Roots, maxima and the few special functions that the estimates need; no other library has them here."""

import math
from collections.abc import Callable

_HALVINGS = 200
_GOLDEN = (math.sqrt(5) - 1) / 2
_ENOUGH = 1e-13


def root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function of a positive number crosses 0, by halving its logarithm between two bounds.

    A function that is below 0 at `low` or above 0 at `high` gives that bound.
    """
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if falling(middle) > 0:
            low = middle
        else:
            high = middle
        if high <= low * (1 + _ENOUGH):
            break
    return math.sqrt(low * high)


def highest(humped: Callable[[float], float], low: float, high: float, within: float) -> float:
    """Where a function with one maximum between the bounds has it, by golden section."""
    one, two = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_one, at_two = humped(one), humped(two)
    while high - low > within:
        if at_one < at_two:
            low, one, at_one = one, two, at_two
            two = low + _GOLDEN * (high - low)
            at_two = humped(two)
        else:
            high, two, at_two = two, one, at_one
            one = high - _GOLDEN * (high - low)
            at_one = humped(one)
    return (low + high) / 2


def poisson_at_most(count: int, mean: float) -> float:
    """P(X <= count) of a Poisson number; terms from the largest down, so that no power overflows."""
    if mean <= 0:
        return 1.0
    logs = (i * math.log(mean) - mean - math.lgamma(i + 1) for i in range(count + 1))
    return min(1.0, math.fsum(math.exp(log) for log in logs))


def poisson_mean(count: int, at_most: float) -> float:
    """The mean under which `count` events or fewer have this probability.

    Half the chi-square quantile: chi2(1 - p; 2 count + 2) / 2 = poisson_mean(count, p).
    """
    top = count + 20 * math.sqrt(count + 1) + 40
    return root(lambda mean: poisson_at_most(count, mean) - at_most, 1e-9, top)


def gamma_share(shape: float, x: float) -> float:
    """The regularised lower incomplete gamma function P(shape, x), by its power series."""
    if x <= 0:
        return 0.0
    if x > shape + 40 + 10 * math.sqrt(shape + x):
        return 1.0
    term = total = 1.0 / shape
    n = 0
    while term > total * 1e-16:
        n += 1
        term *= x / (shape + n)
        total += term
    return min(1.0, total * math.exp(shape * math.log(x) - x - math.lgamma(shape)))
