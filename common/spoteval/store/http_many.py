"""Many requests at a time in one thread: sent side by side, answered in whatever order the answers come.

Why not a thread for each: they compute one at a time all the same, and taking turns cost as much again.
"""

import select
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from typing import Generic, NamedTuple, TypeVar

from spoteval.store.deadline import LOOK_S, Deadline, Overrun
from spoteval.store.http_exchange import Answer, Connection, Steps, overdue
from spoteval.store.http_wire import Pool

T = TypeVar("T")
OPENING_S = 0.005
"""How long nobody looks whether a connection was made meanwhile."""
_END = object()
_FAILED = (OSError, HTTPException, Overrun)


class Call(NamedTuple, Generic[T]):
    """One request, and what its answer is to be told by."""

    name: T
    head: bytes
    body: bytes
    deadline: Deadline


@dataclass(slots=True)
class _Underway(Generic[T]):
    call: Call[T]
    connection: Connection
    steps: Steps[Answer]
    since_s: float
    """When something was last sent or received."""
    awaited: int = 0


Told = tuple[T, Answer | Exception]


def side_by_side(
    pool: Pool, calls: Iterator[Call[T] | None], most: int, patient: Deadline
) -> Iterator[Told[T]]:
    """Each call's answer, or its OSError, Garbled or Overrun, as they come.

    `calls` is asked whenever there is room for one more; None is "not before something is answered". Connections are
    made meanwhile, within `patient`; where none can be, no call is asked for. What is not answered when this is closed
    is given up.
    """
    many: _Many[T] = _Many(pool)
    failed, is_open = pool.failed, True
    try:
        while True:
            opening = pool.opening  # looked at before the idle ones: what is made is among them
            is_short = False
            while is_open and many.count < most and not is_short:
                connection = pool.take_idle()
                if connection is None:
                    is_short = True
                elif isinstance(call := next(calls, _END), Call):
                    yield from many.begin(call, connection)
                else:
                    pool.give(connection)
                    is_open = call is None and many.count > 0
                    break
            if is_short and pool.failed == failed:
                opening += pool.open_more(most - many.count, patient)
            waits = is_short and opening > 0 and patient.left_s > 0
            if not many.count and not waits:
                return
            yield from many.wait(OPENING_S if waits else _until_look_s(patient))
    finally:
        many.close()


def _until_look_s(patient: Deadline) -> float:
    """No longer than to the end of all calls, where they have one in common."""
    left_s = patient.left_s
    return min(LOOK_S, left_s) if left_s > 0 else LOOK_S


class _Many(Generic[T]):
    def __init__(self, pool: Pool) -> None:
        self._pool, self._poll = pool, select.poll()
        self._underway: dict[int, _Underway[T]] = {}
        self._looked_s = pool.clock()

    @property
    def count(self) -> int:
        """How many are under way."""
        return len(self._underway)

    def begin(self, call: Call[T], connection: Connection) -> Iterator[Told[T]]:
        """Send it, as far as that goes without waiting."""
        steps = connection.steps(call.head, (call.body,), call.deadline, bare=False)
        one = _Underway(call, connection, steps, self._pool.clock())
        self._underway[connection.fileno()] = one
        yield from self._on(one, None)

    def wait(self, most_s: float) -> Iterator[Told[T]]:
        """Until something comes, and no longer than that; then go on with what it came for."""
        ready = [number for number, _ in self._poll.poll(most_s * 1000)]
        now_s = self._pool.clock()
        for number in ready:
            one = self._underway[number]
            one.since_s = now_s
            yield from self._on(one, None)
        if not ready or now_s - self._looked_s >= LOOK_S:
            self._looked_s = now_s
            yield from self._end_overdue(now_s)

    def _end_overdue(self, now_s: float) -> Iterator[Told[T]]:
        for one in list(self._underway.values()):
            error = overdue(now_s - one.since_s, one.call.deadline)
            if error is not None:
                yield from self._on(one, error)

    def close(self) -> None:
        """Give up what is under way."""
        for one in self._underway.values():
            one.connection.close()
        self._underway.clear()

    def _on(self, one: _Underway[T], error: Exception | None) -> Iterator[Told[T]]:
        """To where it waits again, or to its end."""
        try:
            awaited = next(one.steps) if error is None else one.steps.throw(error)
        except StopIteration as end:
            self._end(one)
            self._pool.give(one.connection)
            yield one.call.name, end.value
        except _FAILED as failed:
            self._end(one)
            one.connection.close()
            yield one.call.name, failed
        else:
            if awaited != one.awaited:
                one.awaited = awaited
                self._poll.register(one.connection, awaited)

    def _end(self, one: _Underway[T]) -> None:
        with suppress(KeyError):  # it may have waited for nothing yet
            self._poll.unregister(one.connection)
        del self._underway[one.connection.fileno()]
