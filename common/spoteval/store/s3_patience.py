"""How long to wait before the next try of a call, and when there is none."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from spoteval.clock import monotonic_s
from spoteval.store.s3_errors import Trouble, Way

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
LEAST_TRY_S = 0.5
"""A try that has less time is not begun."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Clock, sleep and dice of the pauses."""

    clock: Callable[[], float] = monotonic_s
    sleep: Callable[[float], None] = time.sleep
    dice: Callable[[], float] = random.random


def pause_s(trouble: Trouble, tries: int, left_s: float, dice: float) -> float | None:
    """How long to wait before the next try; None where there is none in `left_s`.

    Doubles from 0.2 to 5 s, between half of it and all of it by `dice` (0 to 1), and no less than the service asks.
    """
    if trouble.way is not Way.AGAIN:
        return None
    grown = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(tries - 1, 10)) * (0.5 + dice / 2)
    pause = max(grown, trouble.after_s or 0.0)
    return pause if pause + LEAST_TRY_S <= left_s else None
