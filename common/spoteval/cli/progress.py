"""A bar for people who wait: on a terminal alone, redrawn a few times a second, gone when it is done."""

from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from spoteval.clock import monotonic_s
from spoteval.publication.pull import Progress

CELLS, EVERY_S = 24, 0.2
_CLEAR = "\r\x1b[K"


class Bar:
    """Draws how far a pull is. Where nobody looks it draws nothing."""

    def __init__(self, out: TextIO, what: str, clock: Callable[[], float] = monotonic_s) -> None:
        self._out, self._what, self._clock = out, what, clock
        self._is_seen = out.isatty()
        self._began_s = self._drawn_s = clock()

    def __enter__(self) -> "Bar":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the line back."""
        if self._is_seen:
            self._out.write(_CLEAR)
            self._out.flush()

    def show(self, progress: Progress) -> None:
        """Draw it, where the last time is long enough ago."""
        now_s = self._clock()
        if self._is_seen and now_s - self._drawn_s >= EVERY_S:
            self._drawn_s = now_s
            self._out.write(_CLEAR + bar(self._what, progress, now_s - self._began_s))
            self._out.flush()


def bar(what: str, progress: Progress, took_s: float) -> str:
    """One line: `pull  ████████░░░░  412/1,000  25.8 of 62.6 MB  8.1 MB/s`."""
    share = progress.bytes / progress.of_bytes if progress.of_bytes else 1.0
    full = round(CELLS * min(1.0, share))
    speed = progress.bytes / 1e6 / took_s if took_s > 0 else 0.0
    return (
        f"{what}  {'█' * full}{'░' * (CELLS - full)}  {progress.units:,}/{progress.of_units:,}"
        f"  {progress.bytes / 1e6:.1f} of {progress.of_bytes / 1e6:.1f} MB  {speed:.1f} MB/s"
    )
