"""Lines about the unit files, as systemd itself judges them."""

from collections.abc import Iterator
from pathlib import Path

from show.lines import Line, Missing, judged
from show.stage import Stage
from unit_figures import (
    ABOVE,
    AGENT,
    Exposure,
    complaints,
    copies,
    exposure,
    has_analyze,
    limit,
    services,
)


def units(stage: Stage) -> Iterator[Line]:
    """`verify` once for all units, and `security` for each service."""
    if not has_analyze():
        raise Missing("no systemd-analyze on this machine")
    folder = stage.scratch / "units"
    folder.mkdir(parents=True)
    found = complaints(folder)
    yield judged(not found, "systemd-analyze verify of all units", found or "clean")
    yield from levels(folder)


def levels(folder: Path) -> Iterator[Line]:
    """A line for each service whose copies lie in `folder`."""
    copies(folder)
    for name in services():
        yield level(name, exposure(name, folder))


def level(name: str, found: Exposure) -> Line:
    """Its exposure against what it may have; the run's is only reported."""
    most, what = limit(name), f"exposure of {name.removesuffix('.service')}"
    if most is None:
        return judged(True, what, f"{found.level} (reported: a harness may need anything)")  # noqa: FBT003
    figure = f"{found.level}, at most {most:g}"
    if name in ABOVE:
        figure += f" (above {AGENT:g} for {found.reasons()})"
    return judged(found.level <= most, what, figure)
