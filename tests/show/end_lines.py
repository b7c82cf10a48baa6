"""Lines of the machine that must end: each case with its measured time to power-off."""

from collections.abc import Iterator

from show.campaign_file import Found, recorded
from show.lines import Line, judged, needs_full, short, skipped
from show.stage import Stage

PROGRAM = "power/run-ends"
CASES = (
    *("missing-disk", "server-that-will-not-die", "store-unreachable", "clock-never-right"),
    *("kill-switch", "run-ignores-its-stop"),
)


def ends(stage: Stage) -> Iterator[Line]:
    """A line for each case; they take minutes of waiting, so only under --full."""
    if not stage.full:
        yield needs_full("the machine that must end")
        return
    found = recorded(stage, PROGRAM)
    if isinstance(found, str):
        yield skipped("the machine that must end", found)
        return
    listed = found.get("found")
    for name in CASES:
        yield judged_end(name, listed.get(name) if isinstance(listed, dict) else None)


def judged_end(name: str, found: Found | None) -> Line:
    """ok when it went off within its bound, or stayed on for the documented reason."""
    what = f"must end: {name}"
    if found is None:
        return short(what, "not played")
    took_s, bound_s, on = found.get("off_s"), found.get("bound_s"), found.get("machine")
    figure = f"{found.get('figure')}, on {on}"
    if found.get("wrong"):
        return short(what, f"{'; '.join(found['wrong'])}; {figure}"[:400])
    stays = found.get("stays_on") is True
    inside = False
    if isinstance(took_s, int | float) and isinstance(bound_s, int | float):
        inside = took_s <= bound_s
    return judged(stays or inside, what, figure)
