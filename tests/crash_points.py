"""Crash before and after each effect on a file.

`spoteval.files` announces each effect with `sys.audit("spoteval.files", what, path)` before it
happens and after. A test passes those points by number:

    for n in range(1, crash_points.count(write) + 1):
        with pytest.raises(Crash), crash_points.crash_at(n):
            write()
        ... what must hold of the files now ...
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

EVENT = "spoteval.files"


class Crash(BaseException):
    """The process ends here. Not an Exception: product code must not survive it."""


class CrashPoints:
    """Counts the points, and crashes at one. Listens only inside its own contexts."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[str, str], None]] = []
        sys.addaudithook(self._hook)  # for the rest of the process: hooks can not be removed

    def _hook(self, event: str, args: tuple[object, ...]) -> None:
        if event == EVENT:
            for listener in tuple(self._listeners):
                listener(str(args[0]), str(args[1]))

    @contextmanager
    def _listening(self, listener: Callable[[str, str], None]) -> Iterator[None]:
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def trace(self, fn: Callable[[], object]) -> list[tuple[str, str]]:
        """The points that `fn` passes, in order, as (what, path)."""
        seen: list[tuple[str, str]] = []
        with self._listening(lambda what, path: seen.append((what, path))):
            fn()
        return seen

    def count(self, fn: Callable[[], object]) -> int:
        """How many points `fn` passes."""
        return len(self.trace(fn))

    @contextmanager
    def crash_at(self, n: int) -> Iterator[None]:
        """Raise Crash at the n-th point (from 1) and at every later one.

        A dead process writes nothing more, also not from its `finally` blocks.
        """
        if n < 1:
            raise ValueError(f"crash_at({n}): points are counted from 1")
        passed = 0

        def listener(what: str, path: str) -> None:
            nonlocal passed
            passed += 1
            if passed >= n:
                raise Crash(f"point {passed}: {what} {path}")

        with self._listening(listener):
            yield

    @contextmanager
    def failing(self, number: int, below: Path, spared: tuple[str, ...] = ()) -> Iterator[None]:
        """Each effect below a directory fails with this errno: a disk that is full, or read-only.

        Paths that end with one of `spared` need no space: their bytes are there already.
        """

        def listener(what: str, path: str) -> None:
            if path.startswith(str(below)) and not path.endswith(spared or "\0"):
                raise OSError(number, os.strerror(number), path)

        with self._listening(listener):
            yield
