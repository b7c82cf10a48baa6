"""Many small things side by side: as many at a time as there are lanes, answers in the order of the questions."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
_AHEAD = 4
"""So many times the lanes are begun before the first is waited for: a slow one holds up few."""


def in_lanes(things: Iterable[T], act: Callable[[T], R], lanes: int) -> Iterator[R]:
    """`act` of each thing, in their order. What one raises is raised in its place, and none is begun after it."""
    waiting: deque[Future[R]] = deque()
    pool = ThreadPoolExecutor(lanes, thread_name_prefix="lane")
    try:
        for thing in things:
            waiting.append(pool.submit(act, thing))
            if len(waiting) >= lanes * _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
