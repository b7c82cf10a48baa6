"""Lines of `spoteval drill forced-stop`: green where it is rehearsed, and each expectation by what breaks it."""

from collections.abc import Iterator

from show.lines import Line, Missing
from show.stage import Stage


def rehearsals(stage: Stage) -> Iterator[Line]:
    """Filled by the command and its tests."""
    if not (stage.root / "common" / "spoteval" / "cli" / "drill.py").exists():
        raise Missing("spoteval drill does not exist")
    yield from ()
