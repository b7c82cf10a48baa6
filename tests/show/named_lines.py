"""Lines that stand on single tests, found by the beginning of their names."""

from collections.abc import Iterator

from show.cases import cases, passed
from show.lines import Line
from show.stage import Stage


def named(stage: Stage, what: str, prefix: str, wanted: int = 1) -> Iterator[Line]:
    """One thing that at least so many tests of this name show."""
    yield passed(what, cases(stage, prefix), wanted)
