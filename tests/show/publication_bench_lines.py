"""Lines of the table that tests/bench/publication prints."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from show.lines import Line, Missing, judged
from show.stage import Stage, output

PROGRAM = "tests/bench/publication"
_FEW = ("--size", "200", "--seeded", "200", "--rounds", "1")
CI = (*_FEW, "--counts", "--rows", "first,idle,pull,seeded")
SOME = ("--size", "1000", "--seeded", "1000")
FULL = ("--size", "10000", "--seeded", "1000,10000,100000")


def table(stage: Stage) -> Iterator[Line]:
    """A line for each row. CI holds requests and sizes to their goals, not times: its machines are of any speed.

    Cut off, the same --scratch goes on with the rows that are missing.
    """
    record = stage.scratch / "bench.json"
    options = FULL if stage.full else CI if stage.ci else SOME
    program = stage.root / PROGRAM
    if not program.exists():
        raise Missing(f"{PROGRAM} does not exist")
    kept = stage.scratch / "bench-parts.json"
    argv = [stage.python, str(program), *options, "--record", str(kept), "--json", str(record)]
    done = output([*argv, "--scratch", str(stage.scratch)], stage.root)
    if not record.exists():
        raise Missing(f"{PROGRAM}: exit {done.returncode}: {done.stderr[-200:]}")
    for one in json.loads(record.read_text())["rows"]:
        yield bench_row(one)


def bench_row(found: Mapping[str, Any]) -> Line:
    """Ours, its goal, and the others beside it."""
    others = " · ".join(f"{tool} {figure}" for tool, figure in found["others"].items())
    figure = f"{found['ours']} ({found['goal']})"
    return judged(bool(found["good"]), found["work"], f"{figure} {others}".strip())
