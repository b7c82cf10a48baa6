"""The table of policies: each cell of it a law of spells, a mean duration and a deadline."""

import argparse
import itertools
import json
import math
import os
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from multiprocessing import Pool
from pathlib import Path
from random import Random

from bench.policy_variants import TRIED
from spoteval.cli.output import table
from spoteval.placement.policies import POLICIES
from spoteval.placement.simulation.market import Weather
from spoteval.placement.simulation.table import Played, Row, Task, drawn, over_cells, played, rows
from spoteval.report.policy_lines import HEAD, cells

SHAPES, MEANS_H = (0.3, 0.45, 0.6, 0.8), (1.5, 3.4)
EPISODES_H, DEADLINES_H = (0.5, 1.0), (18.0, 30.0)
SIGMA, WORK_H, SLOTS, RESTART_H, PRICE = 0.6, 12.0, 16, 1 / 3, 0.33


@dataclass(frozen=True, slots=True)
class Cell:
    """One case."""

    shape: float
    mean_up_h: float
    episode_h: float
    deadline_h: float

    @property
    def task(self) -> Task:
        """A lognormal mean is its median times exp(sigma^2 / 2)."""
        median_h = self.episode_h / math.exp(SIGMA**2 / 2)
        return Task(median_h, SIGMA, WORK_H, SLOTS, self.deadline_h, RESTART_H, PRICE)

    def play(self, starts: int, seed: int, tried: bool) -> list[Played]:
        """So many starts in the trace of this seed."""
        random, task = Random(seed), self.task
        policies = TRIED if tried else POLICIES
        windows = drawn(Weather(self.shape, self.mean_up_h), task, starts, seed)
        return [played(task, one, random, policies) for one in windows]


CELLS = tuple(Cell(*one) for one in itertools.product(SHAPES, MEANS_H, EPISODES_H, DEADLINES_H))


@dataclass(frozen=True, slots=True)
class Table:
    """The mean over cells, and the feasible plan beside the bound: its mean, and the worst cell's."""

    policies: Mapping[str, Row]
    clairvoyant: float
    worst_clairvoyant: float
    plays: int


def tabled(starts: int, seeds: Sequence[int], jobs: int = 1, *, tried: bool = False) -> Table:
    """Every cell with every seed."""
    work = [(cell, starts, seed, tried) for cell in CELLS for seed in seeds]
    with Pool(jobs) as pool:
        found = pool.starmap(Cell.play, work, chunksize=1)
    return _table([_one_cell(found, index, len(seeds)) for index in range(len(CELLS))])


def _one_cell(found: Sequence[list[Played]], index: int, seeds: int) -> list[Played]:
    return [one for part in found[index * seeds : (index + 1) * seeds] for one in part]


def _table(found: Sequence[list[Played]]) -> Table:
    clairvoyant = [statistics.fmean(one.clairvoyant for one in cell) for cell in found]
    return Table(
        policies=over_cells([rows(cell) for cell in found]),
        clairvoyant=statistics.fmean(clairvoyant),
        worst_clairvoyant=max(clairvoyant),
        plays=sum(len(cell) for cell in found),
    )


def lines(found: Table) -> Iterator[str]:
    """The table, then the bound's tightness."""
    yield from table(cells(found.policies), HEAD)
    yield (
        f"a feasible plan that knows all: {found.clairvoyant:.3f} of the bound"
        f" (worst cell {found.worst_clairvoyant:.3f}); {found.plays} windows of each policy"
    )


def record(found: Table) -> dict[str, object]:
    """For the show."""
    return {
        "policies": {name: asdict(row) for name, row in found.policies.items()},
        "clairvoyant": found.clairvoyant,
        "worst_clairvoyant": found.worst_clairvoyant,
        "plays": found.plays,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser(description="Policies on generated traces.")
    parser.add_argument("--starts", type=int, default=10, help="in each trace (10)")
    parser.add_argument("--seeds", type=int, default=3, help="traces of each law (3)")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side (1)")
    parser.add_argument("--tried", action="store_true", help="variants that were tried instead")
    parser.add_argument("--json", help="write the figures there")
    told = parser.parse_args(argv)
    found = tabled(told.starts, range(1, told.seeds + 1), told.jobs, tried=told.tried)
    print("\n".join(lines(found)))
    print(f"{sum(os.times()[:4]):.0f} s of CPU", file=sys.stderr)
    if told.json:
        Path(told.json).write_text(json.dumps(record(found)) + "\n")
    return 0
