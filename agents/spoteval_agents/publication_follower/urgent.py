"""Whether something more urgent waits than the calls that are under way: asked often, looked for rarely."""

from collections.abc import Callable
from threading import current_thread, main_thread

from spoteval.clock import monotonic_s

LOOK_S = 0.25
GRACE_S = 0.25
"""So long calls may still go on: a manifest that is sent now makes an episode of what is sent already."""


class Urgent:
    """Looks at most four times a second, and in the main thread alone: signals are its own. Threads may share it.

    Once it is so it stays so.
    """

    def __init__(
        self, is_wanted: Callable[[], bool], clock: Callable[[], float] = monotonic_s
    ) -> None:
        self._is_wanted, self._clock = is_wanted, clock
        self._looked_s = clock()
        self._since_s: float | None = None

    def __call__(self) -> bool:
        """Whether calls that are under way have to end."""
        now_s = self._clock()
        is_due = self._since_s is None and now_s - self._looked_s >= LOOK_S
        if is_due and current_thread() is main_thread():
            self.look()
        return self._since_s is not None and now_s - self._since_s >= GRACE_S

    def look(self) -> bool:
        """Look now: whether nothing more may begin."""
        self._looked_s = self._clock()
        if self._since_s is None and self._is_wanted():
            self._since_s = self._looked_s
        return self._since_s is not None
