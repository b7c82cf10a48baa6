"""Lines that stand on single tests of the restarter, found by their names."""

import re
from collections import Counter
from collections.abc import Iterator

from show.cases import Case, cases, passed
from show.lines import Line, judged, short
from show.stage import Stage

ROWS = 18
HISTORIES = (
    "a_hold_placed_inside_a_start_window",
    "starting_for_ever",
    "a_rule_hold_lifted_repeatedly",
    "a_rule_tripping_in_an_open_window",
    "a_run_over_with_both_enders_dead",
    "ensure_stopped_during_a_store_outage",
)
COMPLAINTS = (
    *("1", "2", "3", "4", "8", "9", "12", "14", "16", "17", "18", "19", "21", "23", "24", "25"),
    *("32", "33", "34", "71", "72", "74", "76"),
)


def histories(stage: Stage) -> Iterator[Line]:
    """Histories of several rows and processes, with the outcomes of the design: the six, and more."""
    yield six(cases(stage, "test_history_"))


def six(found: list[Case]) -> Line:
    """ok when each of the six is there and all have passed."""
    names = {case.test for case in found}
    lacking = [name for name in HISTORIES if f"test_history_{name}" not in names]
    if lacking:
        return short("the six histories", f"no test of {', '.join(lacking)}")
    return passed("the six histories", found, len(HISTORIES))


def rows(stage: Stage) -> Iterator[Line]:
    """Every row has its tests, and every case of them passes. What they miss, the mutants show."""
    found = cases(stage, "test_row_")
    counts = per_row(found)
    lacking = [number for number in range(1, ROWS + 1) if counts[number] < 2]
    bad = sorted({case.test for case in found if case.word != "passed"})
    figure = f"{len(found)} cases (row:cases {_listed(counts)})"
    if lacking or bad:
        figure += f"; too few of {lacking}; not passed: {', '.join(bad) or 'none'}"
    yield judged(not lacking and not bad, "rows × boundaries", figure)


def per_row(found: list[Case]) -> Counter[int]:
    """Cases of each row, by the number in the test's name."""
    numbers = (re.match(r"test_row_(\d+)_", case.test) for case in found)
    return Counter(int(number[1]) for number in numbers if number is not None)


def _listed(counts: Counter[int]) -> str:
    return " ".join(f"{number}:{counts[number]}" for number in range(1, ROWS + 1))
