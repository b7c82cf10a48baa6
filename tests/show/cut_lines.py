"""Lines that stand on the power cuts: their own program is run, and its record is judged again."""

from collections.abc import Iterator, Sequence

from show.campaign_file import Found, recorded, total
from show.lines import Line, judged, needs_full, say, skipped
from show.stage import Stage

PROGRAM, WANTED, FEW = "power/run", 100, 4
PHASES = ("start", "server-load", "run", "publication", "shutdown", "boot-resume", "end")
COUNTS = {
    "finished episodes lost": "lost",
    "finished episodes run again": "rerun",
    "published bytes that the disk denies": "denied",
    "records that nobody can read": "unreadable",
}


def cuts(stage: Stage) -> Iterator[Line]:
    """The few that every change must pass, or all of them under --full."""
    where = ["--on=nspawn"] if stage.ci else []  # QEMU where there is time for it
    found = recorded(stage, PROGRAM, *([f"--cuts=1-{WANTED}"] if stage.full else []), *where)
    if isinstance(found, str):
        yield skipped("power cuts", found)
        return
    say(f"power cuts: {found.get('took_s', 0) / 60:.1f} min")
    yield from judged_cuts(found, WANTED if stage.full else FEW)
    if not stage.full:
        yield needs_full(f"power cuts: {WANTED}")


def judged_cuts(found: Found, wanted: int) -> Iterator[Line]:
    """How many there were, what each of them cost, and whether every run came to its end."""
    listed = found.get("found")
    items: list[Found] = list(listed.values()) if isinstance(listed, dict) else []
    yield _count(items, wanted, found.get("on"))
    if wanted >= WANTED:
        yield _phases(items)
    for what, name in COUNTS.items():
        yield judged(bool(items) and total(items, name) == 0, what, total(items, name))
    yield _completed(items)


def _count(items: Sequence[Found], wanted: int, on: object) -> Line:
    wrong = [f"{item.get('name')}: {'; '.join(item['wrong'])}" for item in items if item["wrong"]]
    kills = sum(item.get("by") == "kill" for item in items)
    figure = f"{len(items)} of {wanted} on {on}, {kills} of them a KILL of the machine"
    good = len(items) >= wanted and not wrong
    return judged(good, "power cuts", "; ".join([figure, *wrong])[:600])


def _phases(items: Sequence[Found]) -> Line:
    """Each phase was cut, and in each a machine was really killed."""
    cut = {name: sum(item.get("phase") == name for item in items) for name in PHASES}
    killed = {item.get("phase") for item in items if item.get("by") == "kill"}
    figure = ", ".join(f"{name} {count}" for name, count in cut.items())
    spared = [name for name in PHASES if name not in killed]
    figure += f"; no KILL in {', '.join(spared)}" if spared else "; a KILL in each"
    return judged(all(cut.values()) and not spared, "power cuts in every phase", figure)


def _completed(items: Sequence[Found]) -> Line:
    done = sum(item.get("completed") is True and item.get("verified") is True for item in items)
    booted = sum(item.get("by") == "kill" for item in items)
    figure = f"{done} of {len(items)}; {booted} on the machine that was killed, the others on one by nspawn"
    return judged(0 < done == len(items), "runs completed and verified after the cut", figure)
