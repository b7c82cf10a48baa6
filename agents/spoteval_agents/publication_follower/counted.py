"""A store that counts what it is asked."""

from collections.abc import Iterator
from pathlib import Path

from spoteval.store.contract import Put, Store, Stored


class Counted:
    """Another store, and how many requests went to it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.url = store.url
        self.requests = 0

    def put(self, key: str, data: bytes) -> Put:
        """Create `key` with `data`."""
        self.requests += 1
        return self._store.put(key, data)

    def put_file(self, key: str, path: Path) -> Put:
        """Create `key` with the bytes of a file."""
        self.requests += 1
        return self._store.put_file(key, path)

    def get(self, key: str) -> bytes:
        """The bytes of `key`."""
        self.requests += 1
        return self._store.get(key)

    def list(self, prefix: str) -> Iterator[Stored]:
        """Every object whose key begins with `prefix`."""
        self.requests += 1
        return self._store.list(prefix)
