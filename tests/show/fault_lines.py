"""Lines about the campaigns against a pass of the follower: kill -9, a full disk, and every fault of a proxy."""

from collections.abc import Iterator, Mapping
from typing import TypeGuard

from show.campaign_file import recorded
from show.lines import Line, judged, short
from show.stage import Stage

PROGRAM = "publication/run"
KINDS = {
    "kill": "kill -9 at every file operation and request",
    "enospc": "a full disk at every write, and at fsync alone",
    "proxy": "every fault of a proxy at every request",
}
SAMPLE = "a sample: "
WRONG = ("lost", "torn", "doubled", "broken")


def faults(stage: Stage) -> Iterator[Line]:
    """A line for each campaign. Without --full a sample is played, and the line says so."""
    found = recorded(stage, PROGRAM, *([] if stage.full else ["--ci"]))
    campaigns = found.get("campaigns") if isinstance(found, Mapping) else None
    for kind, what in KINDS.items():
        one = campaigns.get(kind) if isinstance(campaigns, Mapping) else None
        yield campaign(what if stage.full else SAMPLE + what, one)


def campaign(what: str, found: Mapping[str, object] | None) -> Line:
    """Every fault was played and every case ended well: nothing lost, torn or doubled after one clean pass."""
    if not isinstance(found, Mapping):
        return short(what, "not recorded")
    count, by, missing = found.get("cases"), found.get("by"), found.get("missing")
    wrong = {name: found.get(name) for name in WRONG}
    kinds = ", ".join(f"{name} {number}" for name, number in by.items()) if is_table(by) else ""
    good = isinstance(count, int) and count > 0 and all(value == 0 for value in wrong.values())
    said = ", ".join(f"{value} {name}" for name, value in wrong.items())
    gaps = "" if missing == [] else f"; not played: {missing}"
    figure = f"{count} cases: {said}{gaps} ({kinds})"
    return judged(good and bool(kinds) and not gaps, what, figure)


def is_table(found: object) -> TypeGuard[Mapping[str, object]]:
    """Whether it has names."""
    return isinstance(found, Mapping)
