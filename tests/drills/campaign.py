"""The drills, two at a time, and the table they make."""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from drills.box import Never
from drills.cells import EVERY, FIXED, Cell, cell_of
from drills.judge import HEAD, Row, Verdicts, row, verdicts
from drills.play import EPISODES, Played, drill, undisturbed


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row, or why there is none."""

    cell: Cell
    row: Row | None
    why: str = ""

    @property
    def good(self) -> bool:
        """Whether nothing is wrong, and nothing was lost, run again, or settled otherwise than once."""
        found = self.row
        return found is not None and not found.wrong and _adds_up(found)

    def text(self) -> str:
        """The printed row."""
        if self.row is None:
            return f"{self.cell}: {self.why}"
        return self.row.text() + ("" if self.good or self.row.wrong else ": but it does not add up")

    def record(self) -> dict[str, object]:
        """For --json."""
        if self.row is not None:
            return self.row.record()
        cell = self.cell
        place = {"window_s": cell.window_s, "moment": cell.moment, "path": cell.path}
        return {**place, "wrong": [self.why]}


def main(argv: Sequence[str] | None = None) -> int:
    """0 when every drill shows what it must."""
    options = _parser().parse_args(argv)
    try:
        cells = [cell_of(text) for text in options.cell] or (EVERY if options.full else FIXED)
    except ValueError as error:
        print(f"tests/drills/run: {error}")
        return 2
    root = Path(options.keep or tempfile.mkdtemp(prefix="drills-")).resolve()
    root.mkdir(parents=True, exist_ok=True)
    began_s = time.monotonic()
    outcomes = list(_outcomes(root, cells, options.at_once))
    took_s = time.monotonic() - began_s
    if options.json:
        record = {"cells": [item.record() for item in outcomes], "took_s": round(took_s, 1)}
        Path(options.json).write_text(json.dumps(record, indent=1))
    good = all(item.good for item in outcomes)
    print(f"{sum(item.good for item in outcomes)} of {len(cells)} as they must be, {took_s:.0f} s")
    if good and not options.keep:
        shutil.rmtree(root, ignore_errors=True)
    elif not good:
        print(f"kept: {root}")
    return 0 if good else 1


def _outcomes(root: Path, cells: Sequence[Cell], at_once: int) -> Iterator[Outcome]:
    """The undisturbed runs first, then each drill; printed as they come."""
    with ThreadPoolExecutor(at_once) as pool:
        policies = sorted({cell.errors for cell in cells})
        runs = pool.map(
            lambda errors: undisturbed(root / f"undisturbed-{errors}", errors), policies
        )
        expected = {errors: _expected(run) for errors, run in zip(policies, runs, strict=True)}
        print(HEAD)
        for outcome in pool.map(lambda cell: _outcome(root, cell, expected), cells):
            print(outcome.text(), flush=True)
            if outcome.good:
                shutil.rmtree(_folder(root, outcome.cell), ignore_errors=True)
            yield outcome


def _expected(played: Played) -> Verdicts:
    """What the others are compared with: it must be whole itself."""
    found = verdicts(played.box)
    if len(found) != EPISODES:
        raise Never(f"the undisturbed run has {len(found)} of {EPISODES} episodes")
    return found


def _outcome(root: Path, cell: Cell, expected: Mapping[str, Verdicts]) -> Outcome:
    try:
        played = drill(_folder(root, cell), cell)
        return Outcome(cell, row(cell, played, expected[cell.errors]))
    except (Never, OSError, ValueError) as error:
        return Outcome(cell, None, f"{type(error).__name__}: {error}")


def _folder(root: Path, cell: Cell) -> Path:
    return root / str(cell).replace(":", "-")


def _adds_up(found: Row) -> bool:
    kept = found.kept == found.ended_before > 0
    settled = found.settled == found.in_flight > 0
    return (
        kept and settled and not found.rerun and not found.lost and found.verdicts == found.intended
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("tests/drills/run", description=__doc__)
    parser.add_argument("--cell", action="append", default=[], help="only WINDOW:MOMENT:PATH")
    parser.add_argument("--full", action="store_true", help="the whole table, not the fixed nine")
    parser.add_argument("--at-once", type=int, default=2, help="drills at a time (2)")
    parser.add_argument("--json", help="write the rows here")
    parser.add_argument("--keep", help="play here; what went wrong is kept in any case")
    return parser
