"""Many histories on all cores: figures, the table of rows and faults, failures shrunk.

tests/sim/run                      10,000 preemptions
tests/sim/run --full               100,000
tests/sim/run --preemptions N      so many; --first S  from this seed on
tests/sim/run --seed S             one history; --only CYCLE:KIND,...  with these faults alone
"""

import argparse
import gc
import json
import math
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
from sim.shrink import REPLAYS, WITHIN_S, Failed, faults_in, play, shrunk

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
    figures, failures = many(preemptions, asked.workers, asked.first, began_s + asked.within)
    took_s = perf_counter() - began_s
    rows = rows_there()
    wrong = [] if failures else list(_too_few(figures, preemptions, asked.within))
    if preemptions >= PREEMPTIONS:
        wrong += (
            f"hit less than {AT_LEAST} times: {cell}" for cell in figures.thin_cells(rows, AT_LEAST)
        )
    print(figures.line())
    print(
        f"{took_s:.0f} s on {asked.workers} cores, {figures.cycles / took_s:,.0f} cycles a second"
    )
    print(figures.table(rows))
    broken = list(texts(failures))
    for text in (*broken, *wrong):
        print(text)
    if asked.json is not None:
        record = figures.record() | {"took_s": took_s, "broken": broken}
        asked.json.write_text(json.dumps(record) + "\n")
    return 1 if failures or wrong else 0


def _too_few(figures: Figures, preemptions: int, within_s: float) -> Iterator[str]:
    if figures.preemptions < preemptions:
        yield f"{figures.preemptions:,} preemptions of {preemptions:,} within {within_s:.0f} s"


def texts(failures: Sequence[Failed]) -> Iterator[str]:
    """All failures, the first one of each kind in its shortest form, as far as there is time for it."""
    first = {failed.kind: failed for failed in reversed(failures)}
    for failed in failures:
        if failed is first[failed.kind]:
            yield shortest(failed, within_s=WITHIN_S / len(first)).text()
        else:
            yield failed.text()


def many(
    preemptions: int, workers: int, first_seed: int = 0, until_s: float = math.inf
) -> tuple[Figures, list[Failed]]:
    """Histories with seeds from `first_seed` on until so many preemptions have been, or that moment has come."""
    figures, failures, seed = Figures(), list[Failed](), first_seed
    with ProcessPoolExecutor(workers, initializer=quiet) as pool:
        while figures.preemptions < preemptions and not failures:
            left = preemptions - figures.preemptions
            chunks = max(workers, -(-left // (EACH * CHUNK)))
            seeds = [range(seed + CHUNK * n, seed + CHUNK * (n + 1)) for n in range(chunks)]
            seed += CHUNK * chunks
            for found, failed in pool.map(chunk, seeds):
                figures.add(found)
                failures += failed
                if perf_counter() > until_s:
                    pool.shutdown(cancel_futures=True)
                    return figures, failures
    return figures, failures


def quiet() -> None:
    """No garbage is looked for inside a history: what it leaves is collected after its chunk."""
    gc.freeze()
    gc.disable()


def chunk(seeds: Iterable[int]) -> tuple[Figures, list[Failed]]:
    """Some histories in this process, and the failures among them."""
    figures, failures = Figures(), list[Failed]()
    for seed in seeds:
        found = told(scene_of(seed))
        if isinstance(found, Failed):
            failures.append(found)
            figures.failed(found.number)
        else:
            figures.add(found.figures)
    gc.collect()
    return figures, failures


def told(scene: Scene, preemptions: int = EACH, cycles: int = CYCLES) -> Failed | Sim:
    """One history in a place of its own: in memory, or on the disk with all that a disk does."""
    if not _POINTS:
        _POINTS.append(Points())
    place: AbstractContextManager[Path] = on_disk() if scene.disk else quickly()
    with place as root:
        return play(scene, root, _POINTS[0], preemptions, cycles)


def shortest(failed: Failed, replays: int = REPLAYS, within_s: float = WITHIN_S) -> Failed:
    """The same failure with the fewest faults; a replay is given twice the cycles that the failure took."""

    def again(scene: Scene) -> Failed | None:
        found = told(scene, cycles=2 * failed.cycles)
        return found if isinstance(found, Failed) else None

    return shrunk(failed, again, replays, within_s)


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
    parser.add_argument("--within", type=float, default=math.inf, help="seconds; then it ends")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    parser.add_argument("--seed", type=int, help="one history")
    parser.add_argument("--rough", type=float, help="with --seed: how much goes wrong, 0 nothing")
    parser.add_argument("--two", action=argparse.BooleanOptionalAction, help="... two restarters")
    parser.add_argument("--only", help="... CYCLE:KIND,... these faults and no others")
    return parser.parse_args(argv)
