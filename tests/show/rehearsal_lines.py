"""Lines of `spoteval drill forced-stop`: green where it is rehearsed, and each expectation by what breaks it."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from drill_scene import by_guest, by_restarter, scene
from show.lines import Line, Missing, judged, needs_full
from show.stage import Stage, output

WHAT = "drill forced-stop"
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


def line_of(what: str, found: Mapping[str, Any]) -> Line:
    """ok where every expectation passed; the slowest way back beside it."""
    items = found["expectations"]
    passed = [item for item in items if item["passed"]]
    back = max((item["took_s"] or 0.0 for item in items if item["what"] == "resumed"), default=0.0)
    failed = [f"stop {item['stop']} {item['what']}" for item in items if not item["passed"]]
    figure = f"{len(passed)} of {len(items)} expectations, resumed within {back:.0f} s of its stop"
    figure += f"; not: {', '.join(failed)}" if failed else ""
    return judged(found["passed"] is True and found["code"] == 0, what, figure)


def _on_machines(stage: Stage) -> Iterator[Line]:
    if not stage.full:
        yield needs_full(f"{WHAT} on nspawn")
        yield needs_full(f"{WHAT} on QEMU")
        return
    from lab.rehearsed import on_nspawn, on_qemu  # the lab installs what it needs

    yield line_of(f"{WHAT} on nspawn", on_nspawn(stage.scratch / "drill-nspawn"))
    yield line_of(f"{WHAT} on QEMU", on_qemu(stage.scratch / "drill-qemu"))


def _broken(stage: Stage) -> Line:
    argv = [stage.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *BREAKS]
    done = output(argv, stage.root)
    last = (done.stdout.strip().splitlines() or ["no output"])[-1]
    return judged(done.returncode == 0, f"{WHAT}: each expectation broken by a test", last)
