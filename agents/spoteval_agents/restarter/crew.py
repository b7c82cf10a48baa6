"""Who serves the instances: a few threads for each provider, so that a slow one delays no other."""

from collections.abc import Iterable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Protocol

from spoteval.clock import monotonic_s
from spoteval_agents.restarter.served import Served

HANDS = 16
"""Most threads of a lane: with 10 s for each look at a dead provider, 16 instances of it take 10 s, 160 take 100."""
DRAIN_S = 4.0
"""In this time a queue should be empty: so many threads as that needs, by what one look takes. More of them only get
in each other's way, so one that the others can do without ends."""


class Crew(Protocol):
    """Serves what it is handed; `failed` is what went wrong beyond repair."""

    failed: BaseException | None

    def hand(self, one: Served) -> None:
        """Serve it once, now or soon. `one.busy_since_s` is None again when it is done."""

    def tend(self) -> None:
        """Called now and then by who hands out."""


class Alone:
    """Serves at once, in the caller's thread."""

    failed: BaseException | None = None

    def hand(self, one: Served) -> None:
        """Serve it."""
        one.serve()
        one.busy_since_s = None

    def tend(self) -> None:
        """Nothing is left to do."""


class Threads:
    """Daemon threads: each call in them has a deadline, and a signal waits for none of them."""

    def __init__(self, served: Iterable[Served], hands: int = HANDS) -> None:
        self.failed: BaseException | None = None
        sizes: dict[str, int] = {}
        for one in served:
            sizes[one.lane] = sizes.get(one.lane, 0) + 1
        self._lanes = {lane: _Lane(self, lane, size, hands) for lane, size in sizes.items()}

    def hand(self, one: Served) -> None:
        """Put it into the queue of its lane."""
        self._lanes[one.lane].queue.put(one)

    def tend(self) -> None:
        """One more thread for each lane that does not keep up."""
        for lane in self._lanes.values():
            lane.tend()


class _Lane:
    """The instances of one provider, and those who serve them."""

    def __init__(self, crew: Threads, name: str, size: int, most: int) -> None:
        self.queue: SimpleQueue[Served] = SimpleQueue()
        self._crew = crew
        self._name, self._size, self._most = name, size, min(most, size)
        self._hands = 0
        self._counting = Lock()
        self._each_s = 0.0
        self._taken = self._taken_before = 0
        self._grow()

    def tend(self) -> None:
        """One more, where the queue stands still or will not be empty in time."""
        waiting = self.queue.qsize()
        stands = self._taken == self._taken_before
        self._taken_before = self._taken
        late = waiting * self._each_s > DRAIN_S * self._hands
        if waiting and (stands or late) and self._hands < self._most:
            self._grow()

    def _grow(self) -> None:
        with self._counting:
            name = f"{self._name}-{self._hands}"
            self._hands += 1
        Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        while True:
            one = self.queue.get()
            self._taken += 1  # two that add at once may count one: it only has to move
            began_s = monotonic_s()
            try:
                one.serve()
            except BaseException as error:  # noqa: BLE001 - a thread that dies unseen would serve no more
                self._crew.failed = error
                return
            took_s = monotonic_s() - began_s
            self._each_s += (took_s - self._each_s) / 8
            one.busy_since_s = None
            if self._is_one_too_many():
                return

    def _is_one_too_many(self) -> bool:
        """Whether all instances would be served in time by one less; then one less there is.

        Not while somebody waits: the others may all be stuck in calls that hang.
        """
        with self._counting:
            others = self._hands - 1
            late = self._size * self._each_s > DRAIN_S * others
            if others < 1 or late or not self.queue.empty():
                return False
            self._hands = others
            return True
