"""Lines that stand on single tests, found by the beginning of their names."""

from collections.abc import Iterator, Mapping

from show.cases import Case, cases, passed
from show.lines import Line
from show.stage import Stage


def named(stage: Stage, what: str, prefix: str, wanted: int = 1) -> Iterator[Line]:
    """One thing that at least so many tests of this name show."""
    yield passed(what, cases(stage, prefix), wanted)


def family(stage: Stage, prefix: str, members: Mapping[str, str]) -> Iterator[Line]:
    """Things that tests of one family show, by how their names go on."""
    found = cases(stage, prefix)
    for what, word in members.items():
        yield member(what, f"{prefix}{word}", found)


def member(what: str, prefix: str, found: list[Case]) -> Line:
    """ok when there is a test of that name and all of its cases pass."""
    return passed(what, (case for case in found if case.test.startswith(prefix)), 1)
