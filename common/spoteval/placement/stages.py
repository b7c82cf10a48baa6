"""The restart path by its stages, from the events of both hosts alone."""

import itertools
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from spoteval.clock import parse_stamp
from spoteval.event import Event

STAGES = ("S2", "S3", "S4", "S5", "S6")
NAMES = {
    "S2": "stopped→start",
    "S3": "running",
    "S4": "serving",
    "S5": "healthy",
    "S6": "episodes running",
}
_MARKS = ("stopped", "start-asked", "running", "server-start", "healthy", "first-episode")


@dataclass(frozen=True, slots=True)
class Restart:
    """One way back from a stop: seconds of each stage that it reached, S3 with its capacity failures."""

    began: datetime
    stages: Mapping[str, float]

    @property
    def done(self) -> bool:
        """Whether episodes ran again."""
        return "S6" in self.stages

    @property
    def total_s(self) -> float:
        """Seconds of all stages that it reached."""
        return sum(self.stages.values())


def restarts(events: Iterable[Event]) -> tuple[Restart, ...]:
    """Every restart: from a stop to the first episode, or to the next stop that cut it.

    S2 stopped → first start call, S3 → RUNNING, S4 → serving started, S5 → healthy, S6 → episodes run.
    A stop that nothing followed is no restart, and one that a drill had come is none of the provider's weather.
    """
    found: list[dict[str, datetime]] = []
    drilled: set[datetime] = set()
    for event in sorted(events, key=lambda item: item.at):
        if event.kind == "stopped":
            found.append({"stopped": event.at})
            drilled |= {event.at} if event.rehearsal else set()
        elif event.kind in _MARKS and found:
            found[-1].setdefault(event.kind, moment_of(event))
    real = (marks for marks in found if marks["stopped"] not in drilled)
    return tuple(Restart(marks["stopped"], _stages(marks)) for marks in real if len(marks) > 1)


def medians(found: Iterable[Restart]) -> dict[str, float]:
    """The median of each stage over the restarts that reached it; a stage that none reached is left out."""
    known = tuple(found)
    by_stage = {
        stage: [restart.stages[stage] for restart in known if stage in restart.stages]
        for stage in STAGES
    }
    return {stage: statistics.median(values) for stage, values in by_stage.items() if values}


def _stages(marks: Mapping[str, datetime]) -> dict[str, float]:
    """Pairs of marks that are both there. Two hosts' polls may cross by a moment: never negative."""
    pairs = zip(STAGES, itertools.pairwise(_MARKS), strict=True)
    return {
        stage: max(0.0, (marks[after] - marks[before]).total_seconds())
        for stage, (before, after) in pairs
        if before in marks and after in marks
    }


def moment_of(event: Event) -> datetime:
    """When it was; a server's start is known later than it happened and carries its own time."""
    at = event.detail.get("at")
    try:
        return parse_stamp(at) if isinstance(at, str) else event.at
    except ValueError:
        return event.at
