"""Puts of a batch, tried many at a time before each is asked for; where the store cannot do that, none is."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from spoteval.store.contract import Later, Put, Store, Stored

GoOn = Callable[[], bool]
Row = Sequence[tuple[str, bytes]]
"""Puts of which the later ones are only made where the first is ours."""


class Ahead:
    """Another store, that answers a put which was tried already with what became of it.

    For one step of one batch: by then the bytes of a key are others.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._answers: dict[str, Put | Later] = {}
        self.url = store.url

    @property
    def large(self) -> Any:
        """Large files in parts, where the other store has that."""
        return getattr(self._store, "large", None)

    def try_rows(self, rows: Mapping[int, Row], go_on: GoOn) -> set[int]:
        """Try the first of each row, then what follows it; which rows were begun.

        Who finds the first taken stops there: of two machines that publish the same episode one has all of it.
        """
        filled = {number: row for number, row in rows.items() if row}
        self._try([row[0] for row in filled.values()], go_on)
        begun = {number for number, row in filled.items() if row[0][0] in self._answers}
        ours = (row for row in filled.values() if self._is_ours(row[0][0]))
        self._try([one for row in ours for one in row[1:]], go_on)
        return begun

    def put(self, key: str, data: bytes) -> Put:
        """Create `key` with `data`, unless that was tried."""
        found = self._answers.pop(key, None)
        if found is None:
            return self._store.put(key, data)
        return found if isinstance(found, Put) else found()

    def put_file(self, key: str, path: Path) -> Put:
        """Create `key` with the bytes of a file."""
        return self._store.put_file(key, path)

    def get(self, key: str) -> bytes:
        """The bytes of `key`."""
        return self._store.get(key)

    def list(self, prefix: str) -> Iterator[Stored]:
        """Every object whose key begins with `prefix`."""
        return self._store.list(prefix)

    def _try(self, wanted: Row, go_on: GoOn) -> None:
        many = getattr(self._store, "many", None)
        if many is not None and wanted:
            self._answers.update(many.put_each(wanted, go_on))

    def _is_ours(self, key: str) -> bool:
        found = self._answers.get(key)
        return isinstance(found, Put) and found.is_ours
