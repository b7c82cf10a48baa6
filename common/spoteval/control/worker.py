"""One slow thing at a time, beside the main thread, which only waits in the Waker."""

import threading
from collections.abc import Callable
from typing import Protocol

from spoteval.shape import Reading, Unreadable

Work = Callable[[], Reading[str]]


class Working(Protocol):
    """What a loop needs of a worker; tests pass one that works at once."""

    def start(self, name: str, work: Work) -> bool:
        """Begin, unless something is under way; says whether it began."""

    def busy(self) -> str | None:
        """The name of what is under way."""

    def take(self, name: str) -> Reading[str] | None:
        """What finished work of this name said, once; None before that."""


class Worker:
    """Work in a daemon thread: a child with a deadline, a run that is being stopped.

    It dies with the process, so what it does must be repeatable.
    """

    def __init__(self) -> None:
        self._name: str | None = None
        self._thread: threading.Thread | None = None
        self._said: dict[str, Reading[str]] = {}

    def start(self, name: str, work: Work) -> bool:
        """Begin, unless something is under way; says whether it began."""
        if self.busy() is not None:
            return False
        self._name = name
        self._thread = threading.Thread(target=self._do, args=(name, work), name=name, daemon=True)
        self._thread.start()
        return True

    def busy(self) -> str | None:
        """The name of what is under way."""
        alive = self._thread is not None and self._thread.is_alive()
        return self._name if alive else None

    def take(self, name: str) -> Reading[str] | None:
        """What finished work of this name said, once; None before that. A failure is Unreadable."""
        return self._said.pop(name, None)

    def _do(self, name: str, work: Work) -> None:
        try:
            self._said[name] = work()
        except Exception as error:  # noqa: BLE001 - whatever failed, the loop must hear of it
            self._said[name] = Unreadable(f"{type(error).__name__}: {error}")
