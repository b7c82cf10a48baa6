"""Waits: figures that have a long tail are told by median and p90, never by one mean."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spoteval.event import Event
from spoteval.placement.lifetime import HOUR_S

_ASKED = ("start-asked", "manual-start")


@dataclass(frozen=True, slots=True)
class Tail:
    """How a number of values lies: nearest-rank p90."""

    count: int
    median: float
    p90: float
    worst: float


def tail(values: Iterable[float]) -> Tail | None:
    """None where there are no values."""
    ordered = sorted(values)
    if not ordered:
        return None
    return Tail(len(ordered), statistics.median(ordered), rank(ordered, 0.9), ordered[-1])


def rank(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them do not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@dataclass(frozen=True, slots=True)
class Waits:
    """Hours from the first start call to RUNNING, of one instance; `open` where the last was never answered."""

    hours: tuple[float, ...] = ()
    refusals: int = 0
    open: bool = False


def capacity_waits(events: Sequence[Event]) -> Waits:
    """Per way up: what the capacity cost. Rehearsed ones are left out, and so is a wait that a stop cut short."""
    hours: list[float] = []
    refusals, asked = 0, None
    for event in events:
        if event.kind in _ASKED and asked is None and not event.rehearsal:
            asked = event.at
        elif event.kind == "capacity-failure":
            refusals += 1
        elif event.kind == "running" and asked is not None:
            hours.append(max(0.0, (event.at - asked).total_seconds()) / HOUR_S)
            asked = None
        elif event.kind == "stopped":
            asked = None
    return Waits(tuple(hours), refusals, asked is not None)
