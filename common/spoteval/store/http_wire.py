"""Kept-alive connections, each byte under a deadline: what the hot path of a store sends over."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from threading import Lock, Thread

from spoteval.store.deadline import Deadline, Overrun
from spoteval.store.http_exchange import Answer, Connection
from spoteval.store.http_route import Route, opened
from spoteval.store.pace import Pace

IDLE_S = 15.0
"""A connection that lay idle for longer is not used again: services close them after 20 s and more."""


@dataclass
class Pool:
    """Connections of one route, as many as are in use at a time. Threads may share it."""

    route: Route
    clock: Callable[[], float]
    opening: int = 0
    failed: int = 0
    _idle: list[Connection] = field(default_factory=list, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def ask(
        self,
        head: bytes,
        body: Iterable[bytes | memoryview],
        deadline: Deadline,
        *,
        bare: bool,
        pace: Pace | None = None,
    ) -> Answer:
        """Send a request, read its answer (`bare`: none has a body). Raises OSError, Garbled and Overrun.

        `pace`: how fast, where there is a limit.
        """
        connection = self.take(deadline)
        try:
            answer = connection.ask(head, body, deadline, bare, pace)
        except BaseException:
            connection.close()
            raise
        self.give(connection)
        return answer

    def take(self, deadline: Deadline) -> Connection:
        """One that nobody uses, or a new one; raises OSError and Overrun."""
        return self.take_idle() or Connection(opened(self.route, deadline))

    def give(self, connection: Connection) -> None:
        """For the next request, where it can have one."""
        if connection.is_kept:
            connection.used_s = self.clock()
            self._idle.append(connection)
        else:
            connection.close()

    def take_idle(self) -> Connection | None:
        """One that nobody uses, if there is one: the one used last, the others grow old.

        One in which something stands unasked was closed by the service.
        """
        while self._idle:
            with suppress(IndexError):  # another thread took it
                one = self._idle.pop()
                if self.clock() - one.used_s <= IDLE_S and not one.has_news():
                    return one
                one.close()
        return None

    def open_more(self, wanted: int, deadline: Deadline) -> int:
        """Have as many made, in threads of their own, that is without waiting; how many more than were under way.

        `opening` and `failed` count them.
        """
        with self._lock:
            missing = max(0, wanted - self.opening)
            self.opening += missing
        for _ in range(missing):
            Thread(target=self._open, args=(deadline,), name="connect", daemon=True).start()
        return missing

    def _open(self, deadline: Deadline) -> None:
        is_open = False
        with suppress(OSError, HTTPException, Overrun):
            self.give(Connection(opened(self.route, deadline)))
            is_open = True
        with self._lock:
            self.opening -= 1
            self.failed += not is_open
