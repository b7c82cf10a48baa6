"""Many histories on all cores: figures, the table of rows and faults, failures shrunk.

tests/sim/run                      10,000 preemptions
tests/sim/run --full               100,000
tests/sim/run --preemptions N      so many
tests/sim/run --seed S             one history; --only CYCLE:KIND,...  with these faults alone
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from sim.cutting import Points
from sim.figures import Figures
from sim.quick import Nowhere, quickly
from sim.restarter_sim import Sim
from sim.rows_seen import rows_there
from sim.scene import Scene, scene_of
from sim.shrink import REPLAYS, Failed, faults_in, play, shrunk

PREEMPTIONS, FULL = 10_000, 100_000
EACH, CYCLES = 12, 6_000
"""Preemptions of one history, and the cycles after which it ends without them."""
CHUNK = 10
AT_LEAST = 50
"""How often each cell of the table must be hit."""

_POINTS: list[Points] = []


def main(argv: Sequence[str] | None = None) -> int:
    """Exit 0 if all held and every cell was hit often enough, else 1."""
    asked = _arguments(sys.argv[1:] if argv is None else argv)
    if asked.seed is not None:
        return _one(_scene(asked), asked.only)
    preemptions = FULL if asked.full else asked.preemptions
    began_s = perf_counter()
    figures, failures = many(preemptions, asked.workers)
    took_s = perf_counter() - began_s
    rows = rows_there()
    thin = figures.thin_cells(rows, AT_LEAST) if preemptions >= PREEMPTIONS else []
    print(figures.line())
    print(
        f"{took_s:.0f} s on {asked.workers} cores, {figures.cycles / took_s:,.0f} cycles a second"
    )
    print(figures.table(rows))
    for text in (*failures, *(f"hit less than {AT_LEAST} times: {cell}" for cell in thin)):
        print(text)
    if asked.json is not None:
        asked.json.write_text(json.dumps(figures.record() | {"took_s": took_s}) + "\n")
    return 1 if failures or thin else 0


def many(preemptions: int, workers: int, first_seed: int = 0) -> tuple[Figures, list[str]]:
    """Histories with seeds from `first_seed` on until so many preemptions have been."""
    figures, failures, seed = Figures(), list[str](), first_seed
    with ProcessPoolExecutor(workers) as pool:
        while figures.preemptions < preemptions and not failures:
            left = preemptions - figures.preemptions
            chunks = max(workers, -(-left // (EACH * CHUNK)))
            seeds = [range(seed + CHUNK * n, seed + CHUNK * (n + 1)) for n in range(chunks)]
            seed += CHUNK * chunks
            for found, texts in pool.map(chunk, seeds):
                figures.add(found)
                failures += texts
    return figures, failures


def chunk(seeds: Iterable[int]) -> tuple[Figures, list[str]]:
    """Some histories in this process, and the failures among them, shrunk."""
    figures, failures = Figures(), list[str]()
    for seed in seeds:
        found = told(scene_of(seed))
        if isinstance(found, Failed):
            failures.append(shortest(found).text())
        else:
            figures.add(found.figures)
    return figures, failures


def told(scene: Scene, preemptions: int = EACH, cycles: int = CYCLES) -> Failed | Sim:
    """One history in a place of its own: in memory, or on the disk with all that a disk does."""
    if not _POINTS:
        _POINTS.append(Points())
    place: AbstractContextManager[Path] = on_disk() if scene.disk else quickly()
    with place as root:
        return play(scene, root, _POINTS[0], preemptions, cycles)


def shortest(failed: Failed, replays: int = REPLAYS) -> Failed:
    """The same failure with the fewest faults; a replay is given twice the cycles that the failure took."""

    def again(scene: Scene) -> Failed | None:
        found = told(scene, cycles=2 * failed.cycles)
        return found if isinstance(found, Failed) else None

    return shrunk(failed, again, replays)


@contextmanager
def on_disk() -> Iterator[Path]:
    """A directory on the disk, for the block; the journal goes nowhere."""
    stderr, sys.stderr = sys.stderr, Nowhere()  # type: ignore[assignment]
    try:
        with TemporaryDirectory() as root:
            yield Path(root)
    finally:
        sys.stderr = stderr


def _one(scene: Scene, only: str | None) -> int:
    if only is not None:
        scene = replace(scene, only=faults_in(only))
    found = told(scene)
    if isinstance(found, Sim):
        print(found.figures.line())
        print(found.figures.table(rows_there()))
        return 0
    print((found if only is not None else shortest(found)).text())
    return 1


def _scene(asked: argparse.Namespace) -> Scene:
    scene = scene_of(asked.seed)
    rough = scene.rough if asked.rough is None else asked.rough
    two = scene.two if asked.two is None else asked.two
    return replace(scene, rough=rough, two=two)


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="the restarter in a virtual world")
    parser.add_argument("--full", action="store_true", help=f"{FULL:,} preemptions")
    parser.add_argument("--preemptions", type=int, default=PREEMPTIONS)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    parser.add_argument("--seed", type=int, help="one history")
    parser.add_argument("--rough", type=float, help="with --seed: how much goes wrong, 0 nothing")
    parser.add_argument("--two", action=argparse.BooleanOptionalAction, help="... two restarters")
    parser.add_argument("--only", help="... CYCLE:KIND,... these faults and no others")
    return parser.parse_args(argv)
