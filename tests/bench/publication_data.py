"""Trees of finished episodes as evaluations leave them: 4.5 files of 62 KB an episode, the same ones for each seed."""

import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SEED = 7
LONG_AGO_S = 3600.0
VARIANTS = 256
"""Of a seeded tree: its files are hard links to those of so many episodes (ext4: at most 65,000 links to one)."""


@dataclass(frozen=True, slots=True)
class Laid:
    """What was laid down."""

    episodes: int
    files: int
    bytes: int


def lay(episodes: Path, numbers: range, moment: float) -> Laid:
    """Write one directory an episode, `episode.json` last, all with the time `moment`."""
    dice = random.Random(SEED + numbers.start)
    pool = dice.randbytes(1 << 20).hex().encode()
    files = size = 0
    for number in numbers:
        folder = episodes / name_of(number)
        folder.mkdir(parents=True)
        for name, data in _files(number, dice, pool):
            (folder / name).write_bytes(data)
            os.utime(folder / name, (moment, moment))
            files, size = files + 1, size + len(data)
        os.utime(folder, (moment, moment))
    os.utime(episodes, (moment, moment))
    return Laid(len(numbers), files, size)


def lay_links(episodes: Path, count: int, moment: float) -> Laid:
    """So many directories whose files are hard links: sizes and counts are true, the disk holds each byte once."""
    models = episodes.parent / "models"
    lay(models, range(VARIANTS), moment)
    files = size = 0
    for number in range(count):
        folder, model = episodes / name_of(number), models / name_of(number % VARIANTS)
        folder.mkdir(parents=True)
        for entry in os.scandir(model):
            os.link(entry.path, folder / entry.name)
            files, size = files + 1, size + entry.stat().st_size
        os.utime(folder, (moment, moment))
    os.utime(episodes, (moment, moment))
    return Laid(count, files, size)


def move_in(staged: Path, episodes: Path) -> int:
    """Rename every staged episode into the tree, with the times it has; returns how many files came."""
    came = 0
    for folder in sorted(staged.iterdir()):
        came += len(list(folder.iterdir()))
        folder.rename(episodes / folder.name)
    return came


def name_of(number: int) -> str:
    """The key of an episode."""
    return f"ep-{number:06d}"


def _files(number: int, dice: random.Random, pool: bytes) -> Iterator[tuple[str, bytes]]:
    yield "trajectory.jsonl", _text(dice, pool, 40_000, 60_000)
    yield "run.log", _text(dice, pool, 8_000, 12_000)
    for extra in range(dice.choice((0, 1, 1, 2, 2, 3))):
        yield f"extra-{extra}.txt", _text(dice, pool, 500, 2_000)
    note = _text(dice, pool, 1_400, 2_400).decode()
    yield "episode.json", json.dumps({"verdict": "C", "number": number, "note": note}).encode()


def _text(dice: random.Random, pool: bytes, least: int, most: int) -> bytes:
    begin = dice.randrange(len(pool) - most)
    return pool[begin : begin + dice.randrange(least, most)]
