"""Lines that stand on the tests of complaints, found by the number in their names."""

import re
from collections.abc import Iterable, Iterator

from show.cases import Case, cases
from show.lines import Line, judged, short
from show.stage import Stage


def complaints(stage: Stage, numbers: Iterable[str]) -> Iterator[Line]:
    """A line for each complaint."""
    found = cases(stage, "test_complaint_")
    for number in numbers:
        yield complaint(number, found)


def complaint(number: str, found: list[Case]) -> Line:
    """ok when there is a test of that number and all of its cases pass."""
    own = [case for case in found if re.match(rf"test_complaint_0*{number}_", case.test)]
    if not own:
        return short(f"complaint {number}", "no test is named after it")
    said = ", ".join(sorted({_sentence(case.test) for case in own}))
    bad = sorted({case.word for case in own} - {"passed"})
    return judged(not bad, f"complaint {number}", f"{said}: {bad[0]}" if bad else said)


def _sentence(test: str) -> str:
    return re.sub(r"^test_complaint_\d+[a-z]?_", "", test).replace("_", " ")
