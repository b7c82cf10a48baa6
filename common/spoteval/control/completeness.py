"""Whether a run is complete, counted by key: cheap to ask at each tick, and small for long runs."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from spoteval.control.runfiles import read_intended
from spoteval.files import read_lines
from spoteval.paths import RunPaths
from spoteval.settlement import closed_keys
from spoteval.shape import Reading, Unreadable

_Signature = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """How many episodes were intended (None before the first start froze them), and how many of them are finished.

    `closed`: others, which were cut and are not run again.
    """

    finished: int
    intended: int | None
    closed: int = 0

    @property
    def complete(self) -> bool:
        """Nothing is left to run; never where nobody knows what was intended."""
        return self.intended is not None and self.finished + self.closed == self.intended


@dataclass(slots=True)
class Completeness:
    """The count of a run's own records, read anew only when one of them has changed."""

    _seen: _Signature | None = field(default=None, init=False)
    _count: Reading[Count] = field(default=Unreadable("not counted"), init=False)
    _of: Path | None = field(default=None, init=False)

    def look(self, paths: RunPaths) -> Reading[Count]:
        """The count now."""
        seen = tuple(map(_signature, (paths.intended, paths.finished, paths.settlement)))
        if seen != self._seen or paths.root != self._of:
            self._count = _counted(paths)
            self._seen, self._of = seen, paths.root
        if isinstance(self._count, Unreadable):
            self._seen = None
        return self._count


def _counted(paths: RunPaths) -> Reading[Count]:
    intended = read_intended(paths)
    if isinstance(intended, Unreadable):
        return intended
    try:
        keys = _finished_keys(paths.finished)
        closed = closed_keys(read_lines(paths.settlement).records)
    except OSError as error:
        return Unreadable(f"{error.filename}: {error.strerror}")
    if intended is None:
        return Count(len(keys), None)
    wanted = frozenset(intended)
    return Count(len(keys & wanted), len(wanted), len((closed - keys) & wanted))


def _finished_keys(path: Path) -> set[str]:
    """Line by line: the witness of a long run need not fit into a small agent. A torn line counts for nothing."""
    keys: set[str] = set()
    try:
        with path.open("rb") as lines:
            for line in lines:
                key = _key(line)
                if key is not None:
                    keys.add(key)
    except FileNotFoundError:
        pass
    return keys


def _key(line: bytes) -> str | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    key = record.get("episode") if isinstance(record, dict) else None
    return key if isinstance(key, str) else None


def _signature(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
