"""A local host that is never preempted: it runs the units that are named, from their files, until it is told to end."""

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from spoteval.clock import read_now
from spoteval.files import Taken, held
from spoteval.local.directories import LocalDirectories
from spoteval.local.unit_file import UnitError, load_units
from spoteval.local.unit_process import Status
from spoteval.local.unit_set import UnitSet, check
from spoteval.local.watchdog import ENDING, guarded, parent_watch
from spoteval.loop import Waker

TICK_S = 0.05


def main(argv: Sequence[str] | None = None) -> int:
    """Run the units until TERM or INT, then stop them in order.

    1 where one of them failed, 2 for a wrong call, 3 where the host runs already.
    """
    options = _parser().parse_args(argv)
    directories = LocalDirectories(options.root.resolve())
    try:
        units = load_units([path.resolve() for path in options.units])
        check(units)
        if absent := sorted(set(options.unit) - set(units)):
            raise UnitError(f"{absent[0]}: no such unit (known: {', '.join(sorted(units))})")
        with held(directories.root / "host.lock"), guarded(directories.root):
            _prepare(directories)
            alive = parent_watch(with_parent=options.with_parent)
            return _serve(UnitSet(units, directories), options.unit, alive)
    except (UnitError, Taken) as error:
        sys.stderr.write(f"{error}\n")
        return 3 if isinstance(error, Taken) else 2


def _prepare(directories: LocalDirectories) -> None:
    """What a boot does: /run is empty, the directories of RuntimeDirectory= and StateDirectory= are there."""
    shutil.rmtree(directories.run, ignore_errors=True)
    for directory in (directories.run, directories.root / "state"):
        directory.mkdir(parents=True, exist_ok=True)


def _serve(units: UnitSet, names: Sequence[str], parent_lives: Callable[[], bool]) -> int:
    with Waker(signals=ENDING) as waker:
        units.boot(names)
        units.tick(read_now())
        try:
            while not units.is_idle:
                if waker.wait(TICK_S).reason == "signal" or not parent_lives():
                    units.shut_down()
                units.tick(read_now())
        finally:
            failed = any(units.status(name) is Status.FAILED for name in names)
            units.kill(read_now())
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m spoteval.local.host", description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="the host's directory")
    parser.add_argument("--units", type=Path, action="append", required=True, help="unit files")
    parser.add_argument("--unit", action="append", required=True, help="run this unit")
    parser.add_argument("--with-parent", action="store_true", help="end when the caller ends")
    return parser


if __name__ == "__main__":
    sys.exit(main())
