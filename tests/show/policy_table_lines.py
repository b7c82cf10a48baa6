"""The table of policies: the bound's tightness, the best with one node and with two, and what was tried."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.policy_table import record, tabled
from show.lines import Line, Missing, judged, needs_full, short
from show.stage import Stage
from spoteval.placement.policies import ONE_NODE, TWO_NODES

STARTS, SEEDS = 60, 60
MOST_MISSED, TIGHT = 0.01, 1.05
GOALS = {
    "one node at a time": (ONE_NODE, 1.33),
    "a second node in the end phase": (TWO_NODES, 1.28),
}
PLAYED = "SPOTEVAL_POLICIES"


def policies(stage: Stage) -> Iterator[Line]:
    """A table that was played, or the whole one, played now."""
    kept = os.environ.get(PLAYED)
    if kept is None and not stage.full:
        yield needs_full("policies on generated traces")
        return
    yield from judged_table(json.loads(Path(kept).read_text()) if kept else _play())


def judged_table(found: Mapping[str, Any]) -> Iterator[Line]:
    """Each row, then the goals. Raises Missing for a table that is not whole."""
    known = found["policies"]
    windows = found["plays"]
    if {*ONE_NODE, *TWO_NODES} - known.keys():
        raise Missing("the table lacks policies (play it again)")
    yield judged(windows >= 32 * STARTS * SEEDS, "windows of each policy", windows)
    tight = found["clairvoyant"]
    yield judged(tight <= TIGHT, "a feasible plan beside the bound", f"{tight:.3f}")
    for what, (names, goal) in GOALS.items():
        yield _best(what, {name: known[name] for name in names}, goal)
    for name, row in known.items():
        figure = f"{row['sums']:.3f} of the bound ({row['mean']:.3f} by windows), {100 * row['missed']:.2f} % missed"
        yield Line("ok", f"played: {name}", figure)


def _best(what: str, known: Mapping[str, Mapping[str, float]], goal: float) -> Line:
    """The cheapest of those that meet their deadlines."""
    held = {name: row for name, row in known.items() if row["missed"] <= MOST_MISSED}
    if not held:
        return short(what, "none meets its deadlines")
    name = min(held, key=lambda one: held[one]["sums"])
    row = held[name]
    figure = f"{row['sums']:.3f} of the bound (at most {goal}), {100 * row['missed']:.2f} % missed: {name}"
    return judged(row["sums"] <= goal, what, figure)


def _play() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(
        json.dumps(record(tabled(STARTS, range(1, SEEDS + 1), os.cpu_count() or 1)))
    )
    return found
