"""Machines that must end: each case is brought about, and timed from its cause to the power being off."""

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab import tools
from lab.orphans import sweep
from lab.shell import ENDING, Broken, Skipped
from parts import Found, cancelled, parts
from power import ends_nspawn, ends_qemu
from power.ends_stage import End, Stage
from power.prepared import layers
from power.worlds import Worlds
from show.lines import say

OWN = ("tests/power", "tests/lab")
SKIPS, AT_ONCE = 77, 2
CASES: Mapping[str, Callable[[Stage], End]] = {
    "store-unreachable": ends_nspawn.store_unreachable,
    "server-that-will-not-die": ends_qemu.server_that_will_not_die,
    "missing-disk": ends_qemu.missing_disk,
    "clock-never-right": ends_qemu.clock_never_right,
    "kill-switch": ends_nspawn.kill_switch,
    "run-ignores-its-stop": ends_nspawn.run_ignores_its_stop,
}
"""The longest first."""


def main(argv: Sequence[str] | None = None) -> int:
    """0 when each ends as it must, 77 where this machine cannot play."""
    signal.signal(signal.SIGTERM, _given_up)
    options = _parser().parse_args(argv)
    try:
        tools.ready(emulates=True)
    except Skipped as reason:
        print(reason, file=sys.stderr)
        return SKIPS
    sweep()
    root = Path(options.keep or tempfile.mkdtemp(prefix="ends-")).resolve()
    kept = parts(Path(options.record).resolve() if options.record else None, OWN)
    names = options.case or list(CASES)
    left = [name for name in names if kept.found.get(name, {}).get("wrong") != []]
    try:
        if left:
            for name, found in _played(root, left):
                kept.add(name, found)
    finally:
        ENDING.set()
    played = [kept.found[name] for name in names if name in kept.found]
    for name in names:
        print(f"{name:<26} {_text(kept.found.get(name, {}))}")
    good = len(played) == len(names) and all(item["wrong"] == [] for item in played)
    if good and not options.keep:
        shutil.rmtree(root, ignore_errors=True)
    print(f"{kept.took_s:.0f} s" + ("" if good else f"; kept: {root}"))
    return 0 if good else 1


def _played(root: Path, names: Sequence[str]) -> Iterator[tuple[str, Found]]:
    """Several at a time: they mostly wait."""
    worlds, below = Worlds(), layers(root)
    with cancelled(ThreadPoolExecutor(AT_ONCE)) as pool:
        ends = {name: pool.submit(_end, Stage(root / name, worlds, below), name) for name in names}
        for name, end in ends.items():
            found = end.result()
            say(f"{name}: {_text(found)}")
            yield name, found


def _end(stage: Stage, name: str) -> Found:
    stage.place.mkdir(parents=True, exist_ok=True)
    try:
        return CASES[name](stage).record()
    except Broken as error:
        return End("none", "broken", wrong=[str(error)[:600]]).record()


def _text(found: Found) -> str:
    if not found:
        return "not played"
    bound = "stays on" if found["stays_on"] else f"at most {found['bound_s']:.0f} s"
    wrong = f"WRONG: {'; '.join(found['wrong'])}" if found["wrong"] else "ok"
    return f"{found['figure']} ({bound}, {found['machine']}) {wrong}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("tests/power/run-ends", description=__doc__)
    parser.add_argument("--case", action="append", choices=list(CASES), help="only this one")
    parser.add_argument("--record", help="keep results here; good ones of the same sources count")
    parser.add_argument("--keep", help="play here, and keep what went wrong")
    return parser


def _given_up(*_: object) -> None:
    """Whoever waits for a machine gives up first: the pools end only when their work does."""
    ENDING.set()
    sys.exit(143)
