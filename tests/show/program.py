"""The frame of a program of shows: options, a scratch directory, the lines, tidying up."""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from show.lines import Line, Show, say, show
from show.stage import Stage, clear

ROOT = Path(__file__).resolve().parent.parent.parent


def run(
    name: str,
    about: str,
    shows: Callable[[Stage], Sequence[Show]],
    argv: list[str] | None = None,
) -> int:
    """Parse, run, tidy; the exit code of the program."""
    options = _parser(name, about).parse_args(argv)
    scratch = Path(options.scratch or tempfile.mkdtemp(prefix=f"{name}-")).resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    stage = Stage(ROOT, scratch, options.full, options.ci, options.part)
    code = show(chosen(shows(stage), stage))
    if options.scratch or code:
        say(f"kept: {scratch}")
    else:
        clear(scratch)
    return code


def chosen(shows: Sequence[Show], stage: Stage) -> list[Show]:
    """All, or those that are wanted; what is left out is said to be so."""
    return [one if stage.wants(one.what) else _left_out(one) for one in shows]


def _left_out(one: Show) -> Show:
    return Show(one.what, lambda: [Line("not run", one.what, "(--part names others)")])


def _parser(name: str, about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=name, description=about)
    parser.add_argument("--full", action="store_true", help="everything, also what takes long")
    parser.add_argument("--ci", action="store_true", help="what every change must pass")
    parser.add_argument("--part", action="append", default=[], help="only what holds this word")
    parser.add_argument("--scratch", help="keep what is left here (default: a temporary place)")
    return parser
