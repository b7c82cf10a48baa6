"""One deadline for a whole call: name look-up, connection, every try and every pause between them."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NoReturn, TypeVar

T = TypeVar("T")
LOOK_S = 0.25
"""How long nothing is looked at while a call waits."""


def _never() -> bool:
    return False


class Overrun(Exception):
    """The deadline passed while the call was under way; whether it happens all the same is unknown."""


class Deadline:
    """Until when a call may take; it can be put off while the call shows that there is much to bring.

    `is_over` ends it at once: something more urgent wants the caller.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        within_s: float,
        is_over: Callable[[], bool] = _never,
    ) -> None:
        self._clock, self._is_over = clock, is_over
        self._until_s = clock() + within_s
        self.within_s = within_s

    @property
    def left_s(self) -> float:
        """Seconds, negative once it has passed."""
        return -1.0 if self._is_over() else self._until_s - self._clock()

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
            return answers.get(timeout=min(LOOK_S, left_s))()
    raise Overrun


def _raise(error: BaseException) -> NoReturn:
    raise error
