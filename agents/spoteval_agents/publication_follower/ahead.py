"""Puts of a batch, tried many at a time before each is asked for; where the store cannot do that, none is."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

    def try_rows(self, rows: Mapping[int, Row], go_on: GoOn, most: int) -> set[int]:
        """Try the rows; which of them were begun.

        Up to `most` are begun and not ended at a time: on a slow link a few are whole then, and not all of them
        halves. Once `go_on` says no none is begun, while those that are go on. Who finds the first put of a row taken
        stops there: of two machines that publish the same episode one has all of it.
        """
        many = getattr(self._store, "many", None)
        filled = {number: row for number, row in rows.items() if row}
        if many is not None and filled:
            count = min(sum(len(row) for row in filled.values()), most)
            for key, answer in many.put_each(self._puts(filled.values(), go_on, most), count):
                self._answers[key] = answer
        return {number for number, row in filled.items() if row[0][0] in self._answers}

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

    def _puts(
        self, rows: Iterable[Row], go_on: GoOn, most: int
    ) -> Iterator[tuple[str, bytes] | None]:
        """The next put each time it is asked for: of a row that is begun, else of another; None while first puts are
        out."""
        fresh, asked = deque(rows), list[Row]()
        ours = deque[deque[tuple[str, bytes]]]()
        while True:
            answered = [row for row in asked if row[0][0] in self._answers]
            asked = [row for row in asked if row[0][0] not in self._answers]
            ours += (
                deque(row[1:]) for row in answered if len(row) > 1 and self._is_ours(row[0][0])
            )
            if ours:
                yield ours[0].popleft()
                if not ours[0]:
                    ours.popleft()
            elif fresh and len(asked) < most and go_on():
                asked.append(fresh.popleft())
                yield asked[-1][0]
            elif asked:
                yield None
            else:
                return

    def _is_ours(self, key: str) -> bool:
        found = self._answers.get(key)
        return isinstance(found, Put) and found.is_ours
