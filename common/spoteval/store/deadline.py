"""One deadline for a whole call: name look-up, connection, every try and every pause between them."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NoReturn, TypeVar

T = TypeVar("T")


class Overrun(Exception):
    """The deadline passed while the call was under way; whether it happens all the same is unknown."""


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
