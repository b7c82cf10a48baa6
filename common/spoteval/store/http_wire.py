"""Kept-alive connections, each byte under a deadline: what the hot path of a store sends over."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread

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
    _idle: list[Connection] = field(default_factory=list, repr=False)

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
        return self._taken() or Connection(opened(self.route, deadline))

    def give(self, connection: Connection) -> None:
        """For the next request, where it can have one."""
        if connection.is_kept:
            connection.used_s = self.clock()
            self._idle.append(connection)
        else:
            connection.close()

    def warm(self, count: int, deadline: Deadline) -> int:
        """Make connections at the same time until `count` wait for requests; how many there are then."""
        found = list[Connection]()
        while len(found) < count and (one := self._taken()) is not None:
            found.append(one)

        def add() -> None:
            with suppress(OSError, Overrun):
                found.append(Connection(opened(self.route, deadline)))

        threads = [Thread(target=add, daemon=True) for _ in range(count - len(found))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._idle += found
        return len(found)

    def _taken(self) -> Connection | None:
        """The one used last: the others grow old. One in which something stands unasked was closed by the service."""
        while self._idle:
            with suppress(IndexError):  # another thread took it
                one = self._idle.pop()
                if self.clock() - one.used_s <= IDLE_S and not one.has_news():
                    return one
                one.close()
        return None
