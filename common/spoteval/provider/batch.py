"""Many instances in one look: who asks soon after another gets the answer to the same call."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from spoteval.clock import Now
from spoteval.provider.contract import Unanswered, unanswered
from spoteval.shape import Reading, Unreadable

T = TypeVar("T")
Found = Reading[Mapping[str, Reading[T]]]
Ask = Callable[[tuple[str, ...], float], Found[T]]

SHARED_S = 5.0
"""An answer is that of a call which began at most so long before it was asked for: one poll of many instances takes
seconds, and each few of them would wait for a call of their own."""
REST_S, REST_MAX_S = 20.0, 300.0
"""How long a provider that wants fewer requests is left alone: what it says, within bounds, else this."""


@dataclass(frozen=True, slots=True)
class _Taken(Generic[T]):
    began_s: float
    found: Found[T]
    rests_until_s: float = 0.0


class Batch(Generic[T]):
    """All instances of one account and place. An id that the answer lacks does not exist."""

    def __init__(self, ask: Ask[T], clock: Callable[[], Now]) -> None:
        self._ask, self._clock = ask, clock
        self._ids: dict[str, None] = {}
        self._lock = threading.Lock()
        self._last: _Taken[T] | None = None

    def add(self, instance_id: str) -> None:
        """From now on it is part of every call."""
        self._ids[instance_id] = None

    def look(self, instance_id: str, deadline_s: float) -> Reading[T]:
        """What a call says of it that began lately, or begins now."""
        asked_s = self._clock().mono_s
        if not self._lock.acquire(timeout=deadline_s):
            return unanswered("timeout", f"{deadline_s:g}s")
        try:
            taken = self._taken(asked_s, deadline_s)
        finally:
            self._lock.release()
        if isinstance(taken, Unreadable):
            return taken
        return taken.get(instance_id, unanswered("gone", "the provider knows no such instance"))

    def forget(self) -> None:
        """Something was asked of an instance: what was seen before says nothing of it."""
        last = self._last
        if last is not None and not isinstance(last.found, Unreadable):
            self._last = None

    def _taken(self, asked_s: float, deadline_s: float) -> Found[T]:
        now_s, last = self._clock().mono_s, self._last
        if last is not None and (last.began_s >= asked_s - SHARED_S or now_s < last.rests_until_s):
            return last.found
        left_s = deadline_s - (now_s - asked_s)
        found = self._ask(tuple(self._ids), left_s)
        ended_s, rests_s = self._clock().mono_s, _rest_s(found)
        until_s = ended_s + rests_s if rests_s > 0 else 0.0
        self._last = _Taken(now_s, found, until_s)
        return found


def _rest_s(found: object) -> float:
    if not isinstance(found, Unanswered) or found.kind != "rate":
        return 0.0
    return min(REST_MAX_S, found.retry_after_s if found.retry_after_s is not None else REST_S)
