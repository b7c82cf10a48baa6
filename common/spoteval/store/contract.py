"""What a store owes. Four verbs; there is no delete and no overwrite."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol

_MOST_BYTES = 1024
_USUAL = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
"""Keys that need no closer look: that of each part would cost a put as much as its digests."""


class Put(Enum):
    """The answer to a create-only put."""

    CREATED = "created"
    EXISTS = "exists"
    REPEATED = "repeated"
    """It exists, and an earlier try of this very put had no answer: whose object it is, that try's or another's, nobody
    knows."""
    ACKNOWLEDGED = "acknowledged"
    """The store knows no condition: the key holds these bytes now, and nobody knows whether it held others before."""

    @property
    def is_ours(self) -> bool:
        """Whether the key holds the bytes of this very put."""
        return self in (Put.CREATED, Put.ACKNOWLEDGED)


@dataclass(frozen=True, slots=True)
class Stored:
    """One object in a listing."""

    key: str
    size: int


class StoreError(Exception):
    """The store did not do it. The text is one line; whether it happened all the same is unknown."""


class StoreRefused(StoreError):
    """The store said no (rights, bad key): trying again changes nothing."""


class Exists(StoreError):
    """The condition of a create-only call did not hold; `is_repeated`: perhaps by an earlier try of the same call."""

    is_repeated = False


class NotThere(StoreError):
    """There is no such object."""


class Store(Protocol):
    """Objects under keys like `runs/<run>/end.json`. All methods raise StoreError.

    A put is create-only and durable when it returns CREATED; EXISTS means that some object has the key, with the same
    bytes or not, and that it was not touched. Repeating a put is therefore safe. A store that cannot do that answers
    ACKNOWLEDGED.
    """

    url: str

    def put(self, key: str, data: bytes) -> Put:
        """Create `key` with `data`."""

    def put_file(self, key: str, path: Path) -> Put:
        """Create `key` with the bytes of a file, read as a stream."""

    def get(self, key: str) -> bytes:
        """The bytes of `key`; raises NotThere."""

    def list(self, prefix: str) -> Iterator[Stored]:
        """Every object whose key begins with `prefix`, in the order of keys."""


Later = Callable[[], Put]
"""A put that was tried and is not over: called, it goes on with all its patience, and raises StoreError."""


class ManyPuts(Protocol):
    """What a store has that can be asked many small things at a time by one thread."""

    def put_each(
        self, wanted: Iterable[tuple[str, bytes] | None], most: int
    ) -> Iterator[tuple[str, Put | Later]]:
        """Try to create each key, `most` at a time; of each that was begun its answer, in whatever order.

        `wanted` is asked whenever there is room for one more; None is "not before something is answered". When several
        in a row were not simply taken it is asked no more: what is left out was not tried. Raises nothing of the
        store's.
        """


def key_error(key: str) -> str | None:
    """Why `key` cannot be a key, or None: parts between slashes, none empty, none a dot path, at most 1024 bytes."""
    if len(key) <= _MOST_BYTES and _USUAL.fullmatch(key):
        return None
    parts = key.split("/")
    bad_part = any(part in ("", ".", "..") or part.startswith(".tmp-") for part in parts)
    if bad_part or len(key.encode()) > _MOST_BYTES or not key.isprintable():
        shown = "".join(char if char.isprintable() else "?" for char in key[:200])
        return f'"{shown}": not a key (parts between "/", none empty or dotted, at most 1024 bytes)'
    return None
