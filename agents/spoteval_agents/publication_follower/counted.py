"""A store that counts what it is asked."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spoteval.store.contract import Later, ManyPuts, Put, Store, Stored


def _nothing() -> None:
    """Nobody listens."""


class Counted:
    """Another store, and how many requests went to it. `alive` is told of each that was answered."""

    def __init__(self, store: Store, alive: Callable[[], None] = _nothing) -> None:
        self._store, self.alive = store, alive
        self.url = store.url
        self.requests = 0

    @property
    def complaints(self) -> tuple[str, ...]:
        """What the other store would have a person know, though all works."""
        said = getattr(self._store, "complaint", None)
        return () if said is None else (str(said),)

    @property
    def large(self) -> "CountedLarge | None":
        """Large files in parts, where the other store has that."""
        large = getattr(self._store, "large", None)
        return None if large is None else CountedLarge(large, self)

    @property
    def many(self) -> "CountedMany | None":
        """Many puts at a time, where the other store has that."""
        many: Any = self._store if hasattr(self._store, "put_each") else None
        return None if many is None else CountedMany(many, self)

    def put(self, key: str, data: bytes) -> Put:
        """Create `key` with `data`."""
        self.requests += 1
        answer = self._store.put(key, data)
        self.alive()
        return answer

    def put_file(self, key: str, path: Path) -> Put:
        """Create `key` with the bytes of a file."""
        self.requests += 1
        answer = self._store.put_file(key, path)
        self.alive()
        return answer

    def get(self, key: str) -> bytes:
        """The bytes of `key`."""
        self.requests += 1
        return self._store.get(key)

    def list(self, prefix: str) -> Iterator[Stored]:
        """Every object whose key begins with `prefix`."""
        self.requests += 1
        return self._store.list(prefix)


@dataclass(frozen=True, slots=True)
class CountedLarge:
    """The parts of another store, counted with its other requests."""

    inner: Any
    by: Counted

    def begin(self, key: str, sha256: str) -> str:
        """Begin a file in parts."""
        self.by.requests += 1
        return str(self.inner.begin(key, sha256))

    def part(self, key: str, upload: str, number: int, data: bytes) -> str:
        """Send a part."""
        self.by.requests += 1
        tag = str(self.inner.part(key, upload, number, data))
        self.by.alive()
        return tag

    def complete(self, key: str, upload: str, tags: Sequence[str]) -> Put:
        """Make the object."""
        self.by.requests += 1
        answer: Put = self.inner.complete(key, upload, tags)
        return answer

    def abort(self, key: str, upload: str) -> None:
        """Throw the parts away."""
        self.by.requests += 1
        self.inner.abort(key, upload)


@dataclass(frozen=True, slots=True)
class CountedMany:
    """The many puts of another store, counted with its other requests."""

    inner: ManyPuts
    by: Counted

    def put_each(
        self, wanted: Iterable[tuple[str, bytes] | None], most: int
    ) -> Iterator[tuple[str, Put | Later]]:
        """Try to create each key."""
        for key, answer in self.inner.put_each(wanted, most):
            self.by.requests += 1
            self.by.alive()
            yield key, answer
