"""The weather of the simulation: lives of Weibull shape, and starts that end in every way a start can."""

import math
from dataclasses import dataclass

from spoteval.local.market import History, StartAnswer, Strike, boots, drawn, up_s

_ANSWERS: tuple[tuple[float, str], ...] = (
    (0.10, "refused"),
    (0.07, "withdrawn"),
    (0.07, "error"),
    (0.02, "rate"),
    (0.01, "auth"),
    (0.03, "stuck"),
)
"""How probable each way is, of a start call that is not simply accepted."""

_TURNED_DOWN = {"refused": 503, "rate": 429, "auth": 403}


@dataclass(frozen=True, slots=True)
class SimWeather:
    """`median_s` is the median of the lives that are drawn; half of them are shorter for every shape.

    After `longest_s` the provider ends each life.
    """

    shape: float
    median_s: float
    window_s: float = 60.0
    longest_s: float = math.inf

    @property
    def scale_s(self) -> float:
        """The Weibull scale that has this median."""
        return float(self.median_s / math.log(2.0) ** (1.0 / self.shape))

    def life_s(self, seed: int, life: int) -> float:
        """Seconds from RUNNING to the strike, of the life with this number, from 1."""
        draw = drawn(seed, "life", life)
        life_s = self.scale_s * (-math.log(1.0 - draw.random())) ** (1.0 / self.shape)
        return float(min(self.longest_s, life_s))

    def start(self, seed: int, attempt: int) -> StartAnswer:
        """Turned down, begun and in vain, begun without an answer, stuck for an hour, or plain."""
        draw = drawn(seed, "start", attempt)
        luck, kind = draw.random(), "plain"
        for share, name in _ANSWERS:
            luck -= share
            if luck < 0:
                kind = name
                break
        if kind in _TURNED_DOWN:
            return StartAnswer(_TURNED_DOWN[kind], kind, begins=False, runs=False, after_s=0.0)
        after_s = draw.uniform(2400.0, 5400.0) if kind == "stuck" else draw.uniform(2.0, 150.0)
        status = 500 if kind == "error" else 200
        runs = kind != "withdrawn" and (kind != "stuck" or draw.random() < 0.5)
        return StartAnswer(status, None, begins=True, runs=runs, after_s=after_s)

    def strike(self, seed: int, history: History) -> Strike | None:
        """The end of the life that was drawn when it began, wherever it has got to by then."""
        life = boots(history)
        draw = drawn(seed, "blow", life)
        noticed, button = draw.random() < 0.9, draw.random() < 0.9
        left_s = max(0.0, self.life_s(seed, life) - up_s(history))
        return Strike(left_s, noticed, button)
