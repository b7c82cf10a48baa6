"""Where a process can be cut, and slowed down: before and after each effect on a file, an object or the provider."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from crash_points import EVENT, Crash

AFTER = frozenset(["renamed", "appended", "linked", "unlinked", "requested"])
"""Points that lie after an effect and before the record of it."""

Listener = Callable[[str, str], None]


class Points:
    """One audit hook for the whole process, and at most one listener: the cycle that is going on."""

    def __init__(self) -> None:
        self._listener: Listener | None = None
        sys.addaudithook(self._hook)  # for the rest of the process: hooks can not be removed

    def _hook(self, event: str, args: tuple[object, ...]) -> None:
        if event == EVENT and self._listener is not None:
            self._listener(str(args[0]), str(args[1]))

    def passed(self, what: str) -> None:
        """An effect outside of files: a request goes out, or has taken effect."""
        if self._listener is not None:
            self._listener(what, "provider")

    @contextmanager
    def listening(self, listener: Listener | None) -> Iterator[None]:
        """Tell `listener` of every point inside the block."""
        self._listener = listener
        try:
            yield
        finally:
            self._listener = None


class Cut:
    """A listener that ends the process at the n-th point of a kind (from 1), and at every later one.

    `at_request` cuts at a request to the provider instead, if there is one. `where` is the point, once it struck.
    """

    def __init__(self, n: int, *, after: bool, at_request: bool) -> None:
        self._n, self._after, self._at_request = n, after, at_request
        self.where: tuple[str, str] | None = None

    def __call__(self, what: str, path: str) -> None:
        if self.where is not None:
            raise Crash("a dead process does nothing more")
        if (what in AFTER) is not self._after:
            return
        if self._at_request:
            self._n = 1 if what in ("request", "requested") else 2
        self._n -= 1
        if self._n == 0:
            self.where = (what, path)
            raise Crash(f"{what} {path}")


class SlowDisk:
    """A listener that lets time pass at the first whole file that is put into place."""

    def __init__(self, seconds: float, passes: Callable[[float], None]) -> None:
        self._seconds, self._passes = seconds, passes

    def __call__(self, what: str, path: str) -> None:
        if what == "rename" and self._seconds > 0:
            seconds, self._seconds = self._seconds, 0.0
            self._passes(seconds)
