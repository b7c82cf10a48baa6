"""Lines that stand on the bench of a large run of Inspect: its own program is run, its figures are judged there."""

import json
from collections.abc import Iterator

from show.lines import Line, Missing, judged, needs_full
from show.stage import Stage, output

SAMPLES = 5_000


def large(stage: Stage) -> Iterator[Line]:
    """A line for each figure of tests/bench/inspect_large."""
    program, file = stage.root / "tests" / "bench" / "inspect_large", stage.scratch / "large.json"
    if not program.exists():
        raise Missing("tests/bench/inspect_large does not exist")
    if not stage.full:
        yield needs_full(f"an Inspect run of {SAMPLES:,} samples")
        return
    done = output([str(program), "--json", str(file)], stage.root)
    if not file.exists():
        raise Missing(f"tests/bench/inspect_large: exit {done.returncode}")
    for item in json.loads(file.read_text())["figures"]:
        yield judged(item["good"] is True, item["what"], item["figure"])
