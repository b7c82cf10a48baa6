"""A source that is asked at its own pace, whoever asks more often."""

from collections.abc import Callable
from time import sleep

from spoteval.clock import monotonic_s
from spoteval.notice.contract import Notice, NoticeSource
from spoteval.shape import Reading


class Paced:
    """At most one question every `every_s`; who comes sooner waits."""

    def __init__(
        self,
        source: NoticeSource,
        every_s: float,
        clock: Callable[[], float] = monotonic_s,
        pause: Callable[[float], object] = sleep,
    ) -> None:
        self._source, self._every_s = source, every_s
        self._clock, self._pause = clock, pause
        self._next_s = 0.0

    def read(self) -> Reading[Notice | None]:
        """The notice that stands, asked no sooner than the pace allows."""
        wait_s = min(self._every_s, self._next_s - self._clock())
        if wait_s > 0:
            self._pause(wait_s)
        self._next_s = self._clock() + self._every_s
        return self._source.read()
