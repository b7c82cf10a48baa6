"""The log of a disk: every write and every flush in order, as qemu's driver `blklogwrites` keeps it.

The format is that of the kernel's dm-log-writes (Documentation/admin-guide/device-mapper/log-writes.rst): a superblock,
then for each request a sector that says what it was, and the data behind it.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MAGIC, VERSION = 0x6A736677736872, 1
SECTOR = 512
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
_HEAD = struct.Struct("<QQQI")
_ENTRY = struct.Struct("<QQQQ")


@dataclass(frozen=True, slots=True)
class Entry:
    """One request. `begins`, `data`: places in the log; `at`, `size`: places on the disk, in bytes."""

    begins: int
    at: int
    size: int
    flags: int
    data: int

    @property
    def flushes(self) -> bool:
        """Whether all that was written before it is durable when it is done."""
        return bool(self.flags & (FLUSH | FUA))

    @property
    def writes(self) -> bool:
        """Whether it changes bytes of the disk."""
        return self.size > 0 and not self.flags & DISCARD


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
    """It is no log, or is cut off."""


def read_log(path: Path) -> DiskLog:
    """Parse it. The count in the superblock is that of the last flush: what lies behind is read as far as it goes."""
    with path.open("rb") as file:
        head = file.read(SECTOR)
        if len(head) < _HEAD.size:
            raise BadLog(f"{path}: {len(head)} bytes are no log")
        magic, version, count, sector = _HEAD.unpack_from(head)
        if (magic, version) != (MAGIC, VERSION):
            raise BadLog(f"{path}: magic {magic:#x}, version {version}: no log of writes")
        entries: list[Entry] = []
        at, end = sector, path.stat().st_size
        while len(entries) < count and at + sector <= end:
            file.seek(at)
            where, sectors, flags, _ = _ENTRY.unpack(file.read(_ENTRY.size))
            size = sectors * SECTOR if sector == SECTOR else sectors * sector
            unit = SECTOR if sector == SECTOR else sector
            entries.append(Entry(at, where * unit, size, flags, at + sector))
            at += sector + (0 if flags & DISCARD else size)
    return DiskLog(path, tuple(entries))


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
