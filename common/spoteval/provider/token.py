"""A token that is fetched when it is needed and again before it runs out."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from spoteval.clock import Now
from spoteval.shape import Reading, Unreadable

AHEAD_S = 120.0
"""A token that ends sooner is fetched anew: a start must not meet its end."""


@dataclass(frozen=True, slots=True)
class Token:
    """`lasts_s` from when it was fetched."""

    value: str = field(repr=False)
    lasts_s: float


class Bearer:
    """Where tokens come from, and the one in use."""

    def __init__(
        self, fetch: Callable[[float], Reading[Token]], clock: Callable[[], Now], name: str = ""
    ) -> None:
        """`fetch` gets seconds until its deadline. `name`: who is meant, for people."""
        self._fetch, self._clock, self.name = fetch, clock, name
        self._lock = threading.Lock()
        self._token: Token | None = None
        self._until_s = 0.0

    def value(self, deadline_s: float) -> Reading[str]:
        """The token; Unreadable where none can be had now. Another thread's fetch is waited for."""
        with self._lock:
            if self._token is None or self._clock().mono_s >= self._until_s:
                fetched = self._fetch(deadline_s)
                if isinstance(fetched, Unreadable):
                    return self._old(fetched)
                self._token = fetched
                ahead_s = min(AHEAD_S, fetched.lasts_s / 2)
                self._until_s = self._clock().mono_s + fetched.lasts_s - ahead_s
            return self._token.value

    def refused(self, value: str) -> None:
        """The API does not take it: the next one who asks gets another."""
        with self._lock:
            if self._token is not None and self._token.value == value:
                self._token = None

    def _old(self, error: Unreadable) -> Reading[str]:
        """What is still good for a minute is better than none."""
        token = self._token
        if token is not None and self._clock().mono_s < self._until_s + min(
            AHEAD_S, token.lasts_s / 2
        ):
            return token.value
        return error
