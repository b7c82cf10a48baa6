"""Whether something more urgent waits than the call that is under way: asked often, looked for rarely."""

from collections.abc import Callable
from threading import current_thread, main_thread

from spoteval.clock import monotonic_s

LOOK_S = 0.25
_NO_BYTES = 0


class Urgent:
    """Looks at most four times a second, and in the main thread alone: signals are its own. Threads may share it."""

    def __init__(self, go_on: Callable[[int], bool]) -> None:
        self._go_on = go_on
        self._looked_s = monotonic_s()
        self._is = False

    def __call__(self) -> bool:
        if not self._is and current_thread() is main_thread():
            now_s = monotonic_s()
            if now_s - self._looked_s >= LOOK_S:
                self._looked_s = now_s
                self._is = not self._go_on(_NO_BYTES)
        return self._is
