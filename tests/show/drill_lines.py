"""Lines that stand on the drills: their own program is run, and its table is judged again."""

import json
from collections.abc import Iterator, Mapping, Sequence

from show.lines import Line, Missing, judged, needs_full, say
from show.stage import Stage, output

WINDOWS, MOMENTS, PATHS = (120, 60, 30, 8, 5), ("run", "resume", "final"), ("INT", "TERM", "KILL")
FIXED, TOOK_S = 9, 8 * 60.0
Cell = Mapping[str, object]


def drills(stage: Stage) -> Iterator[Line]:
    """A line for each window, and one for each thing that must hold in all cells."""
    program, file = stage.root / "tests" / "drills" / "run", stage.scratch / "drills.json"
    if not program.exists():
        raise Missing("tests/drills/run does not exist")
    stage.program("inspect")
    argv = [str(program), "--record", str(file), "--keep", str(stage.scratch / "drills")]
    done = output([*argv, *(["--full"] if stage.full else [])], stage.root)
    if not file.exists():
        raise Missing(f"tests/drills/run: exit {done.returncode}: {done.stderr.strip()[-200:]}")
    yield from judged_drills(json.loads(file.read_text()), full=stage.full, timed=not stage.ci)


def judged_drills(found: Mapping[str, object], *, full: bool, timed: bool = True) -> Iterator[Line]:
    """Everything that must hold, cell by cell and over all of them; a cell that is not there is a gap.

    `timed` False: a change is not refused because the machine was slow that day.
    """
    listed = found.get("cells")
    cells = [cell for cell in listed if isinstance(cell, dict)] if isinstance(listed, list) else []
    yield from (window(number, cells) for number in WINDOWS)
    yield table(cells, full=full)
    yield from sums(cells)
    if not full:
        yield needs_full("drills of all windows × moments × paths")
    took_s = _number(found, "took_s")
    again = f"; {found['again']} came out otherwise before" if found.get("again") else ""
    own_time = f"{took_s / 60:.1f} min, two at a time{again}"
    if not full and timed:
        yield judged(0 < took_s <= TOOK_S, "the drills' own time", own_time)
    else:
        say(f"drills: {own_time}")


def window(window_s: int, cells: Sequence[Cell]) -> Line:
    """The cells of one notice window, each with what really ended the run; ok when none went wrong."""
    own = [cell for cell in cells if cell.get("window_s") == window_s]
    wrong = [f"{_name(cell)}: {cell.get('wrong')}" for cell in own if cell.get("wrong") != []]
    said = ", ".join(f"{_name(cell)} (by {cell.get('ended_by')})" for cell in own)
    return judged(bool(own) and not wrong, f"drills, {window_s} s", "; ".join(wrong) or said)


def table(cells: Sequence[Cell], *, full: bool) -> Line:
    """Under --full every window × moment × path; else the fixed ones, which leave out no window, moment or path."""
    there = {(cell.get("window_s"), cell.get("moment"), cell.get("path")) for cell in cells}
    every = {(w, m, p) for w in WINDOWS for m in MOMENTS for p in PATHS}
    axes = [{cell[axis] for cell in there} for axis in range(3)]
    whole = there >= every if full else axes == [set(WINDOWS), set(MOMENTS), set(PATHS)]
    wanted = len(every) if full else FIXED
    gaps = f", {len(every - there)} gaps" if full else ""
    good = whole and len(there) >= wanted
    return judged(good, "table window × moment × path", f"{len(there)} of {wanted} cells{gaps}")


def sums(cells: Sequence[Cell]) -> Iterator[Line]:
    """Over all cells, by the episodes' own witness and the run's records."""
    ended, kept = (sum(_number(cell, name) for cell in cells) for name in ("ended_before", "kept"))
    yield judged(0 < ended == kept, "finished episodes kept", f"{kept:.0f} of {ended:.0f}")
    again, lost = (sum(_number(cell, name, 1) for cell in cells) for name in ("rerun", "lost"))
    errors = sum(_number(cell, "errors_rerun") for cell in cells)
    # Inspect's resume begins again what failed; the attempt that counts is the first, as undisturbed.
    beside = f"{again:.0f} (Inspect began {errors:.0f} again that had failed; the first try counts)"
    yield judged(bool(cells) and again == 0, "finished episodes run again", beside)
    yield judged(bool(cells) and lost == 0, "episodes lost", f"{lost:.0f}")
    cut, once = (sum(_number(cell, name) for cell in cells) for name in ("in_flight", "settled"))
    yield judged(0 < cut == once, "in flight when cut, settled once", f"{once:.0f} of {cut:.0f}")
    same, all_ = (sum(_number(cell, name) for cell in cells) for name in ("verdicts", "intended"))
    what = "verdicts and classes as in the undisturbed run, an error on the first try included"
    yield judged(0 < all_ == same, what, f"{same:.0f} of {all_:.0f}")


def _name(cell: Cell) -> str:
    return f"{cell.get('moment')} {cell.get('path')}"


def _number(found: Cell, name: str, absent: float = 0.0) -> float:
    value = found.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and isinstance(value, int | float) else absent
