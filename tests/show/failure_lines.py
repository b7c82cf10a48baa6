"""Lines that stand on the tests of known failures of object stores and their tools, found by number."""

import re
from collections.abc import Iterable, Iterator

from show.cases import Case, cases
from show.lines import Line, judged, short
from show.stage import Stage


def failures(stage: Stage, numbers: Iterable[int]) -> Iterator[Line]:
    """A line for each failure."""
    found = cases(stage, "test_failure_")
    for number in numbers:
        yield failure(number, found)


def failure(number: int, found: list[Case]) -> Line:
    """ok when there is a test of that number and all of its cases pass."""
    own = [case for case in found if re.match(rf"test_failure_{number:02d}_", case.test)]
    if not own:
        return short(f"failure {number}", "no test is named after it")
    said = ", ".join(sorted({case.test.split("_", 3)[3].replace("_", " ") for case in own}))
    bad = sorted({case.word for case in own} - {"passed"})
    return judged(not bad, f"failure {number}", f"{said}: {bad[0]}" if bad else said)
