"""Whether lives cluster: the Weibull shape, below 1 where machines die young, its test and its risks."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from spoteval.placement.lifetime import Life
from spoteval.placement.numerics import gamma_share, highest, root

FEWEST_EVENTS = 10
"""With fewer the test sees a shape of 0.6 in less than half the cases, and the estimate is biased upwards."""
CLUSTERED_SHAPE, CLUSTERED_P = 0.8, 0.05
SHORTEST_H = 30 / 3600
"""Half of a 60 s poll: what a life of zero length may have lasted."""
_SHAPES = (0.05, 20.0)
_LARGEST = 700.0


@dataclass(frozen=True, slots=True)
class Weibull:
    """Survival exp(-(t/scale)^shape); `ratio` is the likelihood ratio against shape 1, `p` its probability."""

    shape: float
    scale_h: float
    ratio: float
    p: float

    @property
    def clustered(self) -> bool:
        """The rule of the warning: shape below 0.8 and shape 1 rejected at 5 %."""
        return self.shape < CLUSTERED_SHAPE and self.p < CLUSTERED_P

    @property
    def mean_h(self) -> float:
        """scale * Gamma(1 + 1/shape)."""
        return self.scale_h * math.gamma(1 + 1 / self.shape)

    def fresh(self, duration_h: float) -> float:
        """Risk of an episode that starts with the machine."""
        return -math.expm1(-self._power(duration_h))

    def aged(self, duration_h: float, age_h: float) -> float:
        """Risk of an episode that starts at this age."""
        return -math.expm1(self._power(age_h) - self._power(age_h + duration_h))

    def steady(self, duration_h: float) -> float:
        """Risk of an episode that starts at a random moment of uptime: P(1/shape, (D/scale)^shape)."""
        return gamma_share(1 / self.shape, self._power(duration_h))

    def _power(self, hours: float) -> float:
        return float((hours / self.scale_h) ** self.shape)


def fit(lives: Sequence[Life]) -> Weibull | None:
    """Maximum likelihood, exact or interval-censored as the lives are known; None with fewer than two events."""
    clamped = [_clamped(one) for one in lives]
    if len({one.middle_h for one in clamped if one.preempted}) < 2:
        return None
    profile = _exact(clamped) if all(one.exact for one in clamped) else partial(_interval, clamped)
    low, high = _SHAPES
    log_shape = highest(lambda log: profile(math.exp(log))[0], math.log(low), math.log(high), 1e-9)
    shape = math.exp(log_shape)
    best, rate = profile(shape)
    ratio = max(0.0, 2 * (best - profile(1.0)[0]))
    return Weibull(shape, rate ** (-1 / shape), ratio, math.erfc(math.sqrt(ratio / 2)))


def _clamped(one: Life) -> Life:
    """Zero has no logarithm; an interval may begin there."""
    if one.exact and one.low_h < SHORTEST_H:
        return Life(SHORTEST_H, SHORTEST_H, one.preempted)
    return one


Profile = Callable[[float], tuple[float, float]]
"""At a shape: the greatest log likelihood, and the rate scale^-shape that gives it."""


def _exact(lives: Sequence[Life]) -> Profile:
    """With the rate r / sum t^k put in: r ln(k r / sum t^k) + (k-1) sum ln t - r."""
    logs = [math.log(one.low_h) for one in lives]
    deaths = sum(one.preempted for one in lives)
    died = math.fsum(log for log, one in zip(logs, lives, strict=True) if one.preempted)
    top = max(logs)

    def profile(shape: float) -> tuple[float, float]:
        whole = math.fsum(math.exp(shape * (log - top)) for log in logs)
        log_rate = math.log(deaths / whole) - shape * top
        level = deaths * (math.log(shape) + log_rate) + (shape - 1) * died - deaths
        return level, math.exp(log_rate)

    return profile


def _interval(lives: Sequence[Life], shape: float) -> tuple[float, float]:
    """A death between a and b has ln(exp(-r a^k) - exp(-r b^k)), concave in the rate r: one root of its slope."""
    unit = max(one.high_h if one.preempted else one.low_h for one in lives)
    begun = math.fsum((one.low_h / unit) ** shape for one in lives)
    within = [
        (one.high_h / unit) ** shape - (one.low_h / unit) ** shape
        for one in lives
        if one.preempted and not one.exact
    ]
    sharp = [one.low_h for one in lives if one.preempted and one.exact]
    rate = root(partial(_slope, begun, within, len(sharp)), 1e-9, 1e12)
    level = -rate * begun + math.fsum(math.log(-math.expm1(-rate * width)) for width in within)
    level += math.fsum(_density(hours, unit, shape, rate) for hours in sharp)
    return level, rate * unit**-shape


def _slope(begun: float, within: Sequence[float], sharp: int, rate: float) -> float:
    pulls = (width / math.expm1(rate * width) for width in within if rate * width < _LARGEST)
    return sharp / rate - begun + math.fsum(pulls)


def _density(hours: float, unit: float, shape: float, rate: float) -> float:
    return math.log(shape * rate / hours) + shape * math.log(hours / unit)
