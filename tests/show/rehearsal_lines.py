"""Lines of `spoteval drill forced-stop`: green where it is rehearsed, and each expectation by what breaks it."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from drill_scene import by_guest, by_restarter, scene
from lab import rehearsed, tools
from lab.shell import Skipped
from power import rehearsed as emulated
from show.drill_line import line_of
from show.lab_lines import Lab
from show.lines import Line, Missing, judged, needs_full, skipped
from show.stage import Stage, output

WHAT, NSPAWN = "drill forced-stop", "drill forced-stop on nspawn"
BREAKS = ("tests/test_drill_expect.py", "tests/test_restarter_drill.py", "tests/test_cli_drill.py")


def rehearsals(stage: Stage) -> Iterator[Line]:
    """On `local` by both hosts, on real machines with --full; the tests that break each expectation."""
    if not (stage.root / "common" / "spoteval" / "cli" / "drill.py").exists():
        raise Missing("spoteval drill does not exist")
    yield _broken(stage)
    if stage.ci:
        yield drilled(f"{WHAT} on local, by the guest", stage.scratch / "drill-guest", by_guest)
        return
    yield drilled(f"{WHAT} on local, by the guest", stage.scratch / "drill-guest", by_guest)
    yield drilled(f"{WHAT} on local, by the restarter", stage.scratch / "drill-there", by_restarter)
    yield from _on_machines(stage)


def drilled(what: str, place: Path, play: Callable[[Any], Mapping[str, Any]]) -> Line:
    """One drill on a scene of its own."""
    with scene(place) as here:
        return line_of(what, play(here))


def _on_machines(stage: Stage) -> Iterator[Line]:
    lab = Lab(stage, {NSPAWN: rehearsed.lines}, frozenset([NSPAWN]))
    yield from lab.lines(NSPAWN)
    if not stage.wants(emulated.WHAT):
        return
    if not stage.full:
        yield needs_full(emulated.WHAT)
        return
    try:
        tools.ready(emulates=True)
    except Skipped as reason:
        yield skipped(emulated.WHAT, reason)
        return
    yield from emulated.lines(stage.scratch / "drill-qemu")


def _broken(stage: Stage) -> Line:
    argv = [stage.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *BREAKS]
    done = output(argv, stage.root)
    last = (done.stdout.strip().splitlines() or ["no output"])[-1]
    return judged(done.returncode == 0, f"{WHAT}: each expectation broken by a test", last)
