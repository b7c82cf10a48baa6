"""A whole log of a disk (the format: lab/writelog.py), and what lies between two flushes of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.writelog import MAGIC, Entry, Log


@dataclass(frozen=True, slots=True)
class DiskLog:
    """A whole log."""

    path: Path
    entries: tuple[Entry, ...]

    def before(self, size: int) -> int:
        """How many entries may have been begun when the log was so long."""
        low, high = 0, len(self.entries)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.entries[middle].begins < size else (low, middle)
        return low


class BadLog(Exception):
    """It is no log."""


def read_log(path: Path) -> DiskLog:
    """As far as it goes: the last entry of one that was cut off is left out. Raises BadLog."""
    with path.open("rb") as file:
        if int.from_bytes(file.read(8), "little") != MAGIC:
            raise BadLog(f"{path}: no log of writes")
    log = Log(path)
    log.look()
    size = path.stat().st_size
    return DiskLog(path, tuple(entry for entry in log.entries if entry.ends <= size))


@dataclass(frozen=True, slots=True)
class Stretch:
    """What lies between two flushes: entries `first` to `last` (excluded), all of which may be lost or reordered."""

    first: int
    last: int


def stretches(entries: Sequence[Entry]) -> Iterator[Stretch]:
    """Each stretch, in order. A flush belongs to none: when it is done, all before it is durable."""
    first = 0
    for number, entry in enumerate(entries):
        if entry.flushes:
            yield Stretch(first, number)
            first = number + 1
    yield Stretch(first, len(entries))
