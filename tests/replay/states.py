"""Which states of the disk are looked at: each flush, and seeded subsets of what was not flushed. Pure."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lab.writelog import SECTOR, Entry
from replay.log import Stretch, stretches

SHARES = (0.15, 0.5, 0.85, 1.0)
"""How much of what is unflushed came to the disk, in turn; 1.0: all up to the cut."""
TEARS = 0.3
"""How often one of the writes is torn: some of its sectors old, some new."""
SUPERBLOCK_ENDS = 4096
"""ext4 needs its first superblock whole: torn, it is no filesystem any more, for e2fsck neither."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a write that came to the disk."""

    entry: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class DiskState:
    """One state: everything before `stretch`, and these pieces of it. `cut`: the entry before which the power went."""

    number: int
    stretch: Stretch
    cut: int
    pieces: tuple[Piece, ...] = ()


def states(entries: Sequence[Entry], most: int, seed: int) -> Iterator[DiskState]:
    """About `most` states over the whole log, in order: each flush once, then the same number of subsets for each."""
    found = list(stretches(entries))
    written = [one for one in found if _has_writes(entries, one)]
    left = max(0, most - len(found))
    each, rest = divmod(left, len(written)) if written else (0, 0)
    number, met = 0, 0
    for one in found:
        yield DiskState(number, one, one.first)
        number += 1
        if not _has_writes(entries, one):
            continue
        met += 1
        for turn in range(each + (met <= rest)):
            yield _subset(entries, one, number, turn, seed)
            number += 1


def _has_writes(entries: Sequence[Entry], one: Stretch) -> bool:
    return any(entries[at].writes for at in range(one.first, one.last))


def _subset(entries: Sequence[Entry], one: Stretch, number: int, turn: int, seed: int) -> DiskState:
    dice = random.Random(f"{seed}/{number}")
    writes = [at for at in range(one.first, one.last) if entries[at].writes]
    cut = dice.randint(1, len(writes))
    share = SHARES[turn % len(SHARES)]
    came = [at for at in writes[:cut] if dice.random() < share]
    torn = dice.choice(came) if came and dice.random() < TEARS else None
    pieces: list[Piece] = []
    for at in came:
        tears = at == torn and entries[at].offset >= SUPERBLOCK_ENDS
        pieces += _torn(entries[at], at, dice) if tears else [Piece(at, 0, entries[at].size)]
    return DiskState(number, one, writes[cut - 1] + 1, tuple(pieces))


def _torn(entry: Entry, at: int, dice: random.Random) -> list[Piece]:
    """Each sector by itself: a disk writes a sector whole or not at all."""
    sectors = range(0, entry.size, SECTOR)
    return [Piece(at, offset, SECTOR) for offset in sectors if dice.random() < 0.5]
