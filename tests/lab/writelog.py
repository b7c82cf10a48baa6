"""What a disk holds after its plug is pulled: a log of its writes and flushes, played up to an instant.

A machine's durable disk lies behind QEMU's driver `blklogwrites`, which appends each write and each flush to a log of
the format of Linux's dm-log-writes, in the order in which they were completed. What came before the last flush is on
the disk. Of what came after it any part may be: each write is kept, lost, or torn at a sector, by a seed. KILL alone
would lose only what the guest had not sent yet; this also loses what the disk had not put down.
"""

import errno
import os
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

SECTOR = 512
MAGIC = 0x6A736677736872
FLUSH, FUA, DISCARD = 1, 2, 4
_BLOCK = 4096
KEPT, TORN = 0.5, 0.15
"""Shares of the unflushed writes that are there whole, and in part."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One write, discard or flush: bytes of the disk, and where in the log what was written lies."""

    offset: int
    size: int
    data: int
    flags: int

    @property
    def flushes(self) -> bool:
        """Whether all before it is on the disk when it is done."""
        return bool(self.flags & (FLUSH | FUA))

    @property
    def is_discard(self) -> bool:
        """Whether it frees its place and carries no bytes."""
        return bool(self.flags & DISCARD)

    @property
    def writes(self) -> bool:
        """Whether it changes bytes of the disk."""
        return self.size > 0 and not self.is_discard

    @property
    def begins(self) -> int:
        """Where its head lies in the log."""
        return self.data - SECTOR

    @property
    def ends(self) -> int:
        """Where the next entry begins in the log."""
        return self.data + (0 if self.is_discard else self.size)


class Log:
    """The entries of one log, read as far as they are written; a later `look` reads on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Entry] = []

    def look(self) -> int:
        """Read what is new, and return how many entries there are."""
        with self.path.open("rb") as file:
            at = self.entries[-1].ends if self.entries else SECTOR
            if not self.entries and not _is_log(file.read(8)):
                return 0
            while (entry := _entry(file, at)) is not None:
                self.entries.append(entry)
                at = entry.ends
        return len(self.entries)

    @property
    def is_whole(self) -> bool:
        """Whether nothing lies behind the last entry: a gap is a write that is under way."""
        end = self.entries[-1].ends if self.entries else SECTOR
        rest = -end % _BLOCK  # holes are of whole blocks
        with self.path.open("rb") as file:
            if any(os.pread(file.fileno(), rest, end)):
                return False
            try:
                os.lseek(file.fileno(), end + rest, os.SEEK_DATA)
            except OSError as error:
                return error.errno == errno.ENXIO
        return False


def _is_log(head: bytes) -> bool:
    return int.from_bytes(head, "little") == MAGIC


def _entry(file: BinaryIO, at: int) -> Entry | None:
    """The entry whose head begins there; None where none was written."""
    file.seek(at)
    head = file.read(24)
    sector, count, flags = (int.from_bytes(head[n : n + 8], "little") for n in range(0, 24, 8))
    if count == 0 and flags == 0:
        return None
    return Entry(sector * SECTOR, count * SECTOR, at + SECTOR, flags)


def flushed(entries: Sequence[Entry]) -> int:
    """How many of them the last flush covers."""
    return max((n + 1 for n, entry in enumerate(entries) if entry.flushes), default=0)


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant in the life of a disk: what it began from, and the entries of its log up to here."""

    base: Path
    log: Path
    entries: tuple[Entry, ...]

    def write(self, to: Path, seed: int) -> int:
        """Write to `to` what is left when the power goes here, and return how many writes are lost or torn."""
        shutil.copyfile(self.base, to)  # keeps no holes, and the disks are small
        sure, drawn, spoilt = flushed(self.entries), random.Random(seed), 0
        with self.log.open("rb") as source, to.open("r+b") as target:
            for entry in self.entries[:sure]:
                _play(source, target, entry, entry.size)
            for entry in (entry for entry in self.entries[sure:] if entry.writes):
                size = _kept(entry, drawn)
                spoilt += size < entry.size
                _play(source, target, entry, size)
        return spoilt


def _kept(entry: Entry, drawn: random.Random) -> int:
    """How many bytes of an unflushed write are there."""
    chance = drawn.random()
    if chance < KEPT:
        return entry.size
    return SECTOR * drawn.randrange(entry.size // SECTOR) if chance < KEPT + TORN else 0


def _play(source: BinaryIO, target: BinaryIO, entry: Entry, size: int) -> None:
    if not entry.writes or not size:
        return
    source.seek(entry.data)
    target.seek(entry.offset)
    target.write(source.read(size))
