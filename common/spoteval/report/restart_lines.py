"""`spoteval restarts`: the table of stages with what is typical beside what was measured, and each restart."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from spoteval.clock import stamp
from spoteval.placement.restart_path import TOTAL, Path, Summary
from spoteval.placement.waits import Tail
from spoteval.report.words import duration


class Stage(NamedTuple):
    """What a stage is, who takes the time, what is usual, and what shortens it."""

    name: str
    what: str
    usual: str
    shorter: str


STAGES = (
    Stage("S1", "notice → stopped", "1–3 min", "nothing: the provider's window"),
    Stage("S2", "stopped → start call", "grace + one poll", "[poll] grace"),
    Stage("S3", "start call → RUNNING", "2–5 min", "a wider pool, or on demand"),
    Stage("S4", "RUNNING → serving starts", "2–3 min", "serving enabled at boot"),
    Stage("S5", "serving starts → healthy", "weights, compile", "faster disk, compile cache"),
    Stage("S6", "healthy → episodes run", "preflight", "boot-resume, a short preflight"),
)
HEAD = ("STAGE", "", "USUAL", "MEDIAN", "P90", "WORST", "SEEN", "SHORTER BY")
_CLOCKS_AGREE_S = 1.0


def rows(known: Summary) -> list[tuple[str, ...]]:
    """One row a stage, then the whole."""
    found = [
        (stage.name, stage.what, stage.usual, *_figures(known.tails.get(stage.name)), stage.shorter)
        for stage in STAGES
    ]
    return [
        *found,
        (TOTAL, "stopped → episodes run", "10–25 min", *_figures(known.tails.get(TOTAL)), ""),
    ]


def notes(known: Summary) -> Iterator[str]:
    """What the table rests on, and what is not in it."""
    yield f"{known.restarts} restarts, {known.done} of them until episodes ran again"
    gaps = [f"{stage} {count}" for stage, count in known.gaps.items() if count]
    if gaps:
        yield f"gaps (a mark is missing, so that two stages could not be told apart): {', '.join(gaps)}"
    low, high = known.offsets_s
    if max(-low, high) > _CLOCKS_AGREE_S:
        yield (
            f"guests' clocks were moved by {low:+.1f} to {high:+.1f} s to fit the restarter's:"
            " S1, S4 and what follows are only as good as that"
        )


def each(found: Sequence[Path]) -> Iterator[tuple[str, ...]]:
    """One row a restart."""
    for path in found:
        stages = " ".join(f"{stage} {duration(length)}" for stage, length in path.stages.items())
        refused = f"{path.capacity_failures} capacity failures" if path.capacity_failures else ""
        end = duration(path.total_s) if path.done else f"cut after {duration(path.total_s)}"
        yield stamp(path.began)[:19], path.instance, path.cause, end, stages, refused


def record(found: Sequence[Path], known: Summary) -> dict[str, object]:
    """Both as one JSON object."""
    return {
        "restarts": known.restarts,
        "whole": known.done,
        "typical_s": known.typical_s(),
        "stages": {stage: _tail(one) for stage, one in sorted(known.tails.items())},
        "gaps": {stage: count for stage, count in known.gaps.items() if count},
        "guest_clock_moved_s": list(known.offsets_s),
        "each": [_path(path) for path in found],
    }


def _figures(known: Tail | None) -> tuple[str, str, str, str]:
    if known is None:
        return "–", "–", "–", "0"
    return duration(known.median), duration(known.p90), duration(known.worst), str(known.count)


def _tail(known: Tail) -> dict[str, object]:
    names = {"median_s": known.median, "p90_s": known.p90, "worst_s": known.worst}
    return {"count": known.count, **names}


def _path(path: Path) -> dict[str, object]:
    return {
        "instance": path.instance,
        "stopped": stamp(path.began),
        "cause": path.cause,
        "stages_s": dict(path.stages),
        "total_s": path.total_s,
        "whole": path.done,
        "capacity_failures": path.capacity_failures,
        "guest_clock_moved_s": path.offset_s,
    }
