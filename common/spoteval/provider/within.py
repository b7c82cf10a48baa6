"""A hard end for calls that have none of their own: a name that is not resolved, an answer that drips."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from spoteval.provider.contract import unanswered
from spoteval.shape import Reading

T = TypeVar("T")

MOST_S = 20.0
"""No call to a provider takes longer, whoever asks."""
MOST_HANGING = 8
"""So many calls that nobody waits for any more; beyond them none is begun, as each keeps a thread and a socket."""


class Patience:
    """Calls to one provider. One that is late goes on unheard, and its answer is thrown away."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hanging = 0

    def within(self, deadline_s: float, call: Callable[[], Reading[T]]) -> Reading[T]:
        """What the call returns, or a timeout after `deadline_s`, 20 s at most. Raises what it raises."""
        limit_s = min(deadline_s, MOST_S)
        if limit_s <= 0:
            return unanswered("timeout", "no time was left")
        if self._hanging >= MOST_HANGING:
            return unanswered("timeout", f"{self._hanging} earlier calls still hang")
        call_of = _Call(call)
        threading.Thread(target=call_of.run, args=(self._came_late,), daemon=True).start()
        if not call_of.done.wait(limit_s) and self._gives_up(call_of):
            return unanswered("timeout", f"{limit_s:g}s")
        return call_of.result()

    def _gives_up(self, call: "_Call[T]") -> bool:
        """Whether it is still under way; what comes from now on is late."""
        with self._lock:
            if call.done.is_set():
                return False
            call.is_late = True
            self._hanging += 1
            return True

    def _came_late(self, call: "_Call[T]") -> None:
        """Called by each call's own thread at its end."""
        with self._lock:
            call.done.set()
            self._hanging -= int(call.is_late)


class _Call(Generic[T]):
    """One call in a thread of its own."""

    def __init__(self, call: Callable[[], Reading[T]]) -> None:
        self._call = call
        self._value: Reading[T] | None = None
        self._error: BaseException | None = None
        self.done = threading.Event()
        self.is_late = False

    def run(self, at_end: Callable[["_Call[T]"], None]) -> None:
        """The thread."""
        try:
            self._value = self._call()
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self._error = error
        at_end(self)

    def result(self) -> Reading[T]:
        """After the end."""
        if self._error is not None:
            raise self._error
        assert self._value is not None
        return self._value
