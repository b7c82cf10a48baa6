"""Readings that may block, in threads of their own: the main thread sees the newest one at once."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from spoteval.shape import Reading, Unreadable

T = TypeVar("T")


class Polled(Generic[T]):
    """One reading, taken again and again in a daemon thread. A hung disk or network keeps the last one."""

    def __init__(self, name: str, read: Callable[[], Reading[T]], every_s: float) -> None:
        self._name, self._read, self._every_s = name, read, every_s
        self._wanted = threading.Event()
        self.value: Reading[T] = self._taken()

    def start(self) -> None:
        """Read on until the process ends."""
        threading.Thread(target=self._loop, name=self._name, daemon=True).start()

    def look(self) -> None:
        """Read once more."""
        self.value = self._taken()

    def _loop(self) -> None:
        while True:
            self._wanted.wait(self._every_s)
            self.look()

    def _taken(self) -> Reading[T]:
        try:
            return self._read()
        except Exception as error:  # noqa: BLE001 - a reading that fails is an unreadable one
            return Unreadable(f"{type(error).__name__}: {error}")
