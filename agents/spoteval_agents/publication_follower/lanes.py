"""Several puts at a time: threads that take one piece of work after another."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Generic, Protocol, TypeVar

from spoteval.clock import monotonic_s

T = TypeVar("T")
R = TypeVar("R")
LOOK_S = 0.25
WAIT_S = 0.002
"""A piece of work that waits for longer than this, and for longer than it computes, is worth a thread."""


def clocks_s() -> tuple[float, float]:
    """Seconds of the wall, and of processor time of this thread."""
    return monotonic_s(), time.thread_time()


@dataclass(frozen=True, slots=True)
class Failed:
    """What a piece of work raised."""

    error: Exception


@dataclass(slots=True)
class _Round(Generic[T, R]):
    act: Callable[[T], R]
    answers: "SimpleQueue[tuple[int, R | Failed | None]]" = field(default_factory=SimpleQueue)
    is_over: bool = False


class Each(Protocol):
    """One way to do many pieces of work; see `Lanes.each`."""

    def __call__(
        self, act: Callable[[T], R], items: Sequence[T], go_on: Callable[[], bool], /
    ) -> list[R | Failed | None]:
        """Answers in order."""


class Seldom:
    """Whether to go on, asked no more often than every LOOK_S: to look for what is urgent costs as much as a file."""

    def __init__(self, go_on: Callable[[], bool], clock: Callable[[], float] = monotonic_s) -> None:
        self._go_on, self._clock = go_on, clock
        self._asked_s, self._answer = float("-inf"), True

    def __call__(self) -> bool:
        now_s = self._clock()
        if now_s - self._asked_s >= LOOK_S:
            self._asked_s, self._answer = now_s, self._go_on()
        return self._answer


class Lanes:
    """Daemon threads, begun when they are first wanted. With one lane, work is done in the caller's own thread.

    `clocks`: seconds of the wall and of this thread's processor time.
    """

    def __init__(
        self, count: int = 1, clocks: Callable[[], tuple[float, float]] = clocks_s
    ) -> None:
        self.count, self._clocks = count, clocks
        self._works: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._threads: list[Thread] = []

    def each(
        self, act: Callable[[T], R], items: Sequence[T], go_on: Callable[[], bool]
    ) -> list[R | Failed | None]:
        """`act` of each item, in order; `go_on` is asked in the caller's thread, and once it says no nothing begins.

        What is under way then is awaited: it has a deadline of its own.
        """
        if self.count == 1 or len(items) == 1:
            return [_tried(act, item) if go_on() else None for item in items]
        self._begin_threads()
        turn: _Round[T, R] = _Round(act)
        for number, item in enumerate(items):
            self._works.put(_work(turn, number, item))
        found: list[R | Failed | None] = [None] * len(items)
        left = len(items)
        while left:
            try:
                number, answer = turn.answers.get(timeout=LOOK_S)
            except Empty:
                turn.is_over = turn.is_over or not go_on()
                continue
            found[number] = answer
            left -= 1
        return found

    def near(
        self, act: Callable[[T], R], items: Sequence[T], go_on: Callable[[], bool]
    ) -> list[R | Failed | None]:
        """As `each`, but in the caller's own thread until a piece of it waits; the rest goes to the lanes.

        Threads that only compute are in each other's way: half of the processor time goes into taking turns.
        """
        found = list[R | Failed | None]()
        asked = Seldom(go_on, lambda: self._clocks()[0])
        for item in items:
            began_s, cpu_s = self._clocks()
            found.append(_tried(act, item) if asked() else None)
            ended_s, spent_s = self._clocks()
            if is_worth_a_thread(ended_s - began_s, spent_s - cpu_s):
                break
        rest = items[len(found) :]
        return [*found, *(self.each(act, rest, go_on) if rest else ())]

    def _begin_threads(self) -> None:
        while len(self._threads) < self.count:
            thread = Thread(target=self._lane, name="lane", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _lane(self) -> None:
        while True:
            self._works.get()()


def is_worth_a_thread(took_s: float, cpu_s: float) -> bool:
    """Whether a piece of work waited more than it computed, and for long enough to be worth a switch of threads."""
    return took_s - cpu_s > max(WAIT_S, cpu_s)


def _work(turn: _Round[T, R], number: int, item: T) -> Callable[[], None]:
    def work() -> None:
        turn.answers.put((number, None if turn.is_over else _tried(turn.act, item)))

    return work


def _tried(act: Callable[[T], R], item: T) -> R | Failed:
    try:
        return act(item)
    except Exception as error:  # noqa: BLE001 - one bad file never blocks another, whatever is wrong with it
        return Failed(error)
