"""The drills, two at a time, and the table they make."""

import argparse
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from drills.box import Never
from drills.cells import EVERY, FIXED, Cell, cell_of
from drills.judge import HEAD, Row, Verdicts, row, verdicts
from drills.play import EPISODES, Played, drill, undisturbed
from parts import Found, Parts, cancelled, parts

OWN = ("tests/drills",)


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
        """For the show."""
        if self.row is not None:
            return self.row.record()
        cell = self.cell
        place = {"window_s": cell.window_s, "moment": cell.moment, "path": cell.path}
        return {**place, "wrong": [self.why]}

    def kept(self) -> Found:
        """For --record."""
        return {"good": self.good, "text": self.text(), "row": self.record()}


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
    kept = parts(Path(options.record).resolve() if options.record else None, OWN)
    _play(root, [cell for cell in cells if not _is_good(kept, cell)], kept, options.at_once)
    kept.more["cells"] = [kept.found[str(cell)]["row"] for cell in EVERY if str(cell) in kept.found]
    kept.more["again"] = kept.again(kept.found)
    kept.keep()
    count = sum(_is_good(kept, cell) for cell in cells)
    print(f"{count} of {len(cells)} as they must be, {kept.took_s:.0f} s")
    if count == len(cells) and not options.keep:
        shutil.rmtree(root, ignore_errors=True)
    elif count < len(cells):
        print(f"kept: {root}")
    return 0 if count == len(cells) else 1


def _is_good(kept: Parts, cell: Cell) -> bool:
    found = kept.found.get(str(cell))
    return found is not None and found["good"] is True


def _play(root: Path, cells: Sequence[Cell], kept: Parts, at_once: int) -> None:
    """The undisturbed runs first, then each drill; what was found before is printed as it was."""
    print(HEAD)
    for found in kept.found.values():
        print(found["text"] if found["good"] else f"{found['text']}: once more", flush=True)
    if not cells:
        return
    with cancelled(ThreadPoolExecutor(at_once)) as pool:
        policies = sorted({cell.errors for cell in cells})
        runs = pool.map(lambda policy: _undisturbed(root, policy), policies)
        expected = {policy: _expected(run) for policy, run in zip(policies, runs, strict=True)}
        for outcome in pool.map(lambda cell: _outcome(root, cell, expected), cells):
            print(outcome.text(), flush=True)
            kept.add(str(outcome.cell), outcome.kept())
            if outcome.good:
                shutil.rmtree(_folder(root, outcome.cell), ignore_errors=True)


def _undisturbed(root: Path, errors: str) -> Played:
    folder = root / f"undisturbed-{errors}"
    shutil.rmtree(folder, ignore_errors=True)
    return undisturbed(folder, errors)


def _expected(played: Played) -> Verdicts:
    """What the others are compared with: it must be whole itself."""
    found = verdicts(played.box)
    if len(found) != EPISODES:
        raise Never(f"the undisturbed run has {len(found)} of {EPISODES} episodes")
    return found


def _outcome(root: Path, cell: Cell, expected: Mapping[str, Verdicts]) -> Outcome:
    try:
        shutil.rmtree(_folder(root, cell), ignore_errors=True)
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
    parser.add_argument("--record", help="keep rows here; good ones of the same sources count")
    parser.add_argument("--keep", help="play here; what went wrong is kept in any case")
    return parser
