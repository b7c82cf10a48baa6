"""A token that is fetched when it is needed and again before it runs out."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from spoteval.clock import Now
from spoteval.shape import Reading, Unreadable

T = TypeVar("T")

AHEAD_S = 120.0
"""A token that ends sooner is fetched anew: a start must not meet its end."""


@dataclass(frozen=True, slots=True)
class Token(Generic[T]):
    """`lasts_s` from when it was fetched."""

    value: T = field(repr=False)
    lasts_s: float


class Bearer(Generic[T]):
    """Where tokens come from, and the one in use."""

    def __init__(
        self, fetch: Callable[[float], Reading[Token[T]]], clock: Callable[[], Now]
    ) -> None:
        """`fetch` gets seconds until its deadline."""
        self._fetch, self._clock = fetch, clock
        self._lock = threading.Lock()
        self._token: Token[T] | None = None
        self._until_s = 0.0

    def value(self, deadline_s: float) -> Reading[T]:
        """The token; Unreadable where none can be had now. Another thread's fetch is waited for."""
        with self._lock:
            if self._token is None or self._clock().mono_s >= self._until_s:
                fetched = self._fetch(deadline_s)
                if isinstance(fetched, Unreadable):
                    return self._old(fetched)
                self._token = fetched
                self._until_s = self._clock().mono_s + fetched.lasts_s - _ahead_s(fetched)
            return self._token.value

    def refused(self, value: T | None = None) -> None:
        """The API does not take it (None: whichever it was): the next one who asks gets another."""
        with self._lock:
            if self._token is not None and value in (None, self._token.value):
                self._token = None

    def _old(self, error: Unreadable) -> Reading[T]:
        """What is still good for a minute is better than none."""
        token = self._token
        if token is not None and self._clock().mono_s < self._until_s + _ahead_s(token):
            return token.value
        return error


def _ahead_s(token: Token[T]) -> float:
    return min(AHEAD_S, token.lasts_s / 2)
