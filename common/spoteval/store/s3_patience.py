"""One deadline for a whole call: name look-up, connection, every try and every pause between them."""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NoReturn, TypeVar

from spoteval.clock import monotonic_s
from spoteval.store.s3_errors import Trouble, Way

T = TypeVar("T")
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
LEAST_TRY_S = 0.5
"""A try that has less time is not begun."""


class Overrun(Exception):
    """The deadline passed while the call was under way; whether it happens all the same is unknown."""


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


class Deadline:
    """Until when a call may take; it can be put off while the call shows that there is much to bring."""

    def __init__(self, clock: Callable[[], float], within_s: float) -> None:
        self._clock = clock
        self._until_s = clock() + within_s
        self.within_s = within_s

    @property
    def left_s(self) -> float:
        """Seconds, negative once it has passed."""
        return self._until_s - self._clock()

    def put_off(self, seconds: float) -> None:
        """Give it more."""
        self._until_s += seconds
        self.within_s += seconds


def bounded(act: Callable[[], T], deadline: Deadline) -> T:
    """What `act` returns or raises, before the deadline; raises Overrun after that.

    In a thread of its own: a resolver takes no deadline, and a service that sends a byte a second passes every timeout
    of a socket. One that overran ends by the timeouts of its socket.
    """
    answers: SimpleQueue[Callable[[], T]] = SimpleQueue()

    def work() -> None:
        try:
            value = act()
        except BaseException as error:  # noqa: BLE001 - it is raised again, where the answer is awaited
            answers.put(partial(_raise, error))
        else:
            answers.put(lambda: value)

    Thread(target=work, name="store-call", daemon=True).start()
    while (left_s := deadline.left_s) > 0:
        with suppress(Empty):
            return answers.get(timeout=left_s)()
    raise Overrun


def _raise(error: BaseException) -> NoReturn:
    raise error
