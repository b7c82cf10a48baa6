"""Lines that stand on the simulation: its own program is run, and its figures are judged again."""

import json
from collections.abc import Iterator, Mapping

from show.cases import cases
from show.lines import Line, Missing, judged, short
from show.stage import Stage, output

PREEMPTIONS, FULL = 10_000, 100_000
AT_LEAST, ROWS, FAULTS = 50, 18, 10
LIFE_S, TOOK_S = 30 * 60.0, 8 * 60.0
INVARIANTS = ("I1", "I2", "I5", "I6", "I7", "I11")
CAUGHT_WITHIN = 1_000
SHOWN = ("days", "crashes", "starts", "stops", "capacity_failures", "answers_lost", "holds")
Figures = Mapping[str, object]


def sim(stage: Stage) -> Iterator[Line]:
    """A line for each figure of tests/sim/run, and for each deliberate bug."""
    program, file = stage.root / "tests" / "sim" / "run", stage.scratch / "sim.json"
    if not program.exists():
        raise Missing("tests/sim/run does not exist")
    done = output(
        [str(program), "--json", str(file), *(["--full"] if stage.full else [])], stage.root
    )
    if not file.exists():
        raise Missing(f"tests/sim/run: exit {done.returncode}: {_last(done.stdout, done.stderr)}")
    broken = "" if done.returncode == 0 else _last(done.stdout, done.stderr)
    yield from judged_figures(json.loads(file.read_text()), broken, full=stage.full)


def judged_figures(found: Figures, broken: str, *, full: bool) -> Iterator[Line]:
    """Each figure at its limit or beyond; one that was not printed is short. `broken`: what the program said."""
    wanted = FULL if full else PREEMPTIONS
    done = _number(found, "preemptions")
    sums = ", ".join(f"{name} {_number(found, name):,.0f}" for name in SHOWN)
    yield judged(done >= wanted, "preemptions simulated", f"{done:,.0f} of {wanted:,}; {sums}")
    what = f"{', '.join(INVARIANTS)} at every step"
    yield judged(not broken and done > 0, what, f"broken: {broken}" if broken else "0 broken")
    yield from (short("broken", text.splitlines()[0]) for text in _texts(found.get("broken")))
    for name in ("doubled", "missed"):
        yield judged(found.get(name) == 0, f"{name} starts", found.get(name, "not counted"))
    life_s = _number(found, "life_median_s")
    yield judged(life_s >= LIFE_S, "median life in virtual time", f"{life_s / 60:.0f} min")
    yield cells(found)
    if not full:
        took_s = _number(found, "took_s")
        yield judged(0 < took_s <= TOOK_S, "the simulation's own time", f"{took_s / 60:.1f} min")


def cells(found: Figures) -> Line:
    """Every row met every fault, often enough."""
    table = found.get("cells")
    hits = {str(name): int(n) for name, n in table.items()} if isinstance(table, Mapping) else {}
    rows = {name.partition(" ")[0] for name in hits}
    faults = {name.partition(" ")[2] for name in hits}
    every = {f"{row} {fault}": hits.get(f"{row} {fault}", 0) for row in rows for fault in faults}
    least = min(every, key=lambda name: every[name], default="no cell")
    good = len(rows) == ROWS and len(faults) >= FAULTS and every[least] >= AT_LEAST
    figure = f"{len(rows)} rows × {len(faults)} faults, least {every.get(least, 0)} ({least})"
    return judged(good, f"each row × fault hit {AT_LEAST} times", figure)


def bugs(stage: Stage) -> Iterator[Line]:
    """One deliberate bug for each invariant, caught in time: the tests of tests/sim/bugs, by their names."""
    found = cases(stage, "test_bug_")
    for name in INVARIANTS:
        own = [case for case in found if case.test.startswith(f"test_bug_{name.lower()}_")]
        good = bool(own) and all(case.word == "passed" for case in own)
        figure = ", ".join(sorted({case.test for case in own})) or "no test"
        yield judged(good, f"a bug against {name} caught within {CAUGHT_WITHIN:,}", figure)


def _number(found: Figures, name: str) -> float:
    value = found.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _texts(value: object) -> list[str]:
    """Each rule that was broken, with its seed."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _last(out: str, err: str) -> str:
    text = (err.strip() or out.strip() or "no output").splitlines()
    return text[-1][-200:]
