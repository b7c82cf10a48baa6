"""Who serves the instances: a few threads for each provider, so that a slow one delays no other."""

from collections.abc import Callable, Iterable
from queue import SimpleQueue
from threading import Thread
from typing import Protocol

from spoteval_agents.restarter.served import Served

HANDS = 16
"""Threads for each lane: with 10 s for each look at a dead provider, 16 instances of it take 10 s, 160 take 100."""


class Crew(Protocol):
    """Serves what it is handed; `failed` is what went wrong beyond repair."""

    failed: BaseException | None

    def hand(self, one: Served) -> None:
        """Serve it once, now or soon. `one.busy_since_s` is None again when it is done."""


class Alone:
    """Serves at once, in the caller's thread."""

    failed: BaseException | None = None

    def hand(self, one: Served) -> None:
        """Serve it."""
        one.serve()
        one.busy_since_s = None


class Threads:
    """Daemon threads: each call in them has a deadline, and a signal waits for none of them."""

    def __init__(self, served: Iterable[Served], hands: int = HANDS) -> None:
        self.failed: BaseException | None = None
        self._lanes: dict[str, SimpleQueue[Served]] = {}
        sizes: dict[str, int] = {}
        for one in served:
            sizes[one.lane] = sizes.get(one.lane, 0) + 1
        for lane, size in sizes.items():
            queue: SimpleQueue[Served] = SimpleQueue()
            self._lanes[lane] = queue
            for number in range(min(hands, size)):
                self._start(queue, f"{lane}-{number}")

    def hand(self, one: Served) -> None:
        """Put it into the queue of its lane."""
        self._lanes[one.lane].put(one)

    def _start(self, queue: "SimpleQueue[Served]", name: str) -> None:
        Thread(target=self._work, args=(queue.get,), name=name, daemon=True).start()

    def _work(self, take: Callable[[], Served]) -> None:
        while True:
            one = take()
            try:
                one.serve()
            except BaseException as error:  # noqa: BLE001 - a thread that dies unseen would serve no more
                self.failed = error
                return
            one.busy_since_s = None
