"""Waiting: the main thread only waits here, for a signal, a touched file, or the next cycle."""

import os
import select
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Protocol

from spoteval.clock import monotonic_s

LOOK_EVERY_S = 0.25
"""How often the touch files are looked at while waiting: a stat costs microseconds, a person notices a second."""

Glimpse = Mapping[Path, tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class Wake:
    """Why a wait ended: "time", "file" or "signal" (then `signum` says which)."""

    reason: str
    signum: int = 0


class Waiting(Protocol):
    """What a loop needs of a waker; tests pass one that returns at once."""

    def wait(self, timeout_s: float) -> Wake:
        """Wait at most `timeout_s` seconds."""


class Waker:
    """One select on the signal wake-up descriptor and a regular look at the files that concern the agent.

    A flag checked after a blocking call sees SIGTERM seconds late; this sees it at once.
    Use it as a context manager in the main thread.
    """

    def __init__(
        self, watched: Sequence[Path] = (), signals: Sequence[int] = (signal.SIGTERM, signal.SIGINT)
    ) -> None:
        self._watched = tuple(watched)
        self._signals = tuple(signals)
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._seen = glimpse(self._watched)

    def __enter__(self) -> "Waker":
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for signum in self._signals:
            signal.signal(signum, _awake)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.set_wakeup_fd(-1)
        for signum in self._signals:
            signal.signal(signum, signal.SIG_DFL)
        os.close(self._reader)
        os.close(self._writer)

    def wait(self, timeout_s: float) -> Wake:
        """Wait until a signal, a change of a watched file, or `timeout_s` seconds; whichever comes first."""
        until_s = monotonic_s() + timeout_s
        while True:
            left_s = max(0.0, until_s - monotonic_s())
            if (signum := self._signal_within(min(LOOK_EVERY_S, left_s))) is not None:
                return Wake("signal", signum)
            if self._changed():
                return Wake("file")
            if left_s <= 0:
                return Wake("time")

    def _signal_within(self, timeout_s: float) -> int | None:
        readable, _, _ = select.select([self._reader], [], [], timeout_s)
        if not readable:
            return None
        return os.read(self._reader, 1)[0]

    def _changed(self) -> bool:
        seen = glimpse(self._watched)
        changed = seen != self._seen
        self._seen = seen
        return changed


def glimpse(paths: Sequence[Path]) -> Glimpse:
    """Inode and modification time of each path, None where it is absent: equal glimpses mean nothing was touched."""
    return {path: _look(path) for path in paths}


def _look(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _awake(signum: int, frame: FrameType | None) -> None:
    """The byte in the wake-up descriptor does the work; the handler only has to exist."""
