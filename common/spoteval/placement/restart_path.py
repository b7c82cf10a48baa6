"""Every restart by its stages S1 to S6, from the events of both hosts: gaps named, clocks brought together. Pure."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from spoteval.event import Event
from spoteval.placement.stages import moment_of
from spoteval.placement.waits import Tail, tail

MARKS = ("notice", "stopped", "start-asked", "running", "server-start", "healthy", "first-episode")
STAGES = ("S1", "S2", "S3", "S4", "S5", "S6")
TOTAL = "total"
"""From the stop until episodes ran again; S1 comes before it."""
_NOTICES = ("notice", "interrupted")
_BY_GUEST = frozenset(["notice", "booted", "server-start", "healthy", "first-episode"])
_HOSTS = ("restarter", "operator")


@dataclass(frozen=True, slots=True)
class Path:
    """One way back from a stop. `stages` in seconds; a gap joins stages, as in "S4+S5"."""

    instance: str
    began: datetime
    cause: str
    stages: Mapping[str, float]
    capacity_failures: int = 0
    offset_s: float = 0.0
    """What was added to the guest's times: the least that brings its story into that of the restarter."""

    @property
    def done(self) -> bool:
        """Whether episodes ran again."""
        return any(stage.endswith("S6") for stage in self.stages)

    @property
    def total_s(self) -> float:
        """From the stop to the last mark that it reached."""
        return sum(length for stage, length in self.stages.items() if stage != "S1")


@dataclass(slots=True)
class _Walk:
    """The marks of one restart as they come."""

    stop: Event
    host: dict[str, datetime] = field(default_factory=dict)
    guest: dict[str, datetime] = field(default_factory=dict)
    last: datetime | None = None
    """The guest's last sign before the next stop, by its own clock."""
    refusals: int = 0

    @property
    def began(self) -> bool:
        return len(self.host) > 1 or "booted" in self.guest


def paths(events: Sequence[Event], *, drills: bool = False) -> tuple[Path, ...]:
    """Every restart of one instance that anything followed; those of drills only where they are asked for.

    A session of the guest belongs whole to the restart in which its first event falls: a clock that is ahead by less
    than the machine's life puts none of it elsewhere.
    """
    walks: list[_Walk] = []
    owners: dict[str, _Walk] = {}
    notice: datetime | None = None
    for event in events:
        if event.kind in _NOTICES and notice is None:
            notice = event.at
        elif event.kind == "stopped":
            walks.append(_Walk(event, {"stopped": event.at}))
            if notice is not None:
                walks[-1].guest["notice"] = notice
        elif walks:
            walk = owners.setdefault(event.session, walks[-1]) if event.session else walks[-1]
            _note(walk, event)
        if event.kind in ("stopped", "start-asked", "running"):
            notice = None  # a notice that comes after the stop is of a clock that is ahead
    nexts = [*(walk.stop.at for walk in walks[1:]), None]
    ended = (_ended(walk, stop, drills=drills) for walk, stop in zip(walks, nexts, strict=False))
    return tuple(itertools.chain.from_iterable(ended))


def _note(walk: _Walk, event: Event) -> None:
    if event.source in _HOSTS:
        walk.refusals += event.kind == "capacity-failure"
        kind = "start-asked" if event.kind == "manual-start" else event.kind
        if kind in MARKS:
            walk.host.setdefault(kind, event.at)
        return
    walk.last = event.at
    if event.kind in _BY_GUEST:
        walk.guest.setdefault(event.kind, moment_of(event))


def _ended(walk: _Walk, next_stop: datetime | None, *, drills: bool) -> Iterator[Path]:
    if not walk.began or (walk.stop.rehearsal and not drills):
        return
    offset_s = _offset_s(walk, next_stop)
    shift = timedelta(seconds=offset_s)
    marks = {**{name: at + shift for name, at in walk.guest.items()}, **walk.host}
    yield Path(
        instance=walk.stop.instance,
        began=walk.stop.at,
        cause=walk.stop.reason or "unknown",
        stages=dict(_stages(marks)),
        capacity_failures=walk.refusals,
        offset_s=offset_s,
    )


def _offset_s(walk: _Walk, next_stop: datetime | None) -> float:
    """A guest boots after the start call and speaks before it stops: the least shift of its clock for which it does."""
    booted, asked = walk.guest.get("booted"), walk.host.get("start-asked")
    least = (asked - booted).total_seconds() if booted is not None and asked is not None else 0.0
    if least > 0:
        return least
    if next_stop is None or walk.last is None:
        return 0.0
    return min(0.0, (next_stop - walk.last).total_seconds())


def _stages(marks: Mapping[str, datetime]) -> Iterator[tuple[str, float]]:
    """From each mark to the next that is there. Polls of two hosts may cross by a moment: never negative."""
    known = [index for index, mark in enumerate(MARKS) if mark in marks]
    for low, high in itertools.pairwise(known):
        name = "+".join(STAGES[low:high])
        length = marks[MARKS[high]] - marks[MARKS[low]]
        yield name, max(0.0, length.total_seconds())


@dataclass(frozen=True, slots=True)
class Summary:
    """All restarts: the tail of each stage and of the whole, and how many had a gap there."""

    restarts: int
    done: int
    tails: Mapping[str, Tail]
    gaps: Mapping[str, int]
    offsets_s: tuple[float, float]
    """The least and the greatest shift of a guest's clock; (0, 0) where all stories fit."""

    def typical_s(self) -> float | None:
        """The median of those that came back whole: the restart cost S."""
        whole = self.tails.get(TOTAL)
        return whole.median if whole is not None else None


def summary(found: Sequence[Path]) -> Summary:
    """Over restarts of one or many instances; a stage that was joined to another counts as a gap of both."""
    lengths: dict[str, list[float]] = {}
    gaps = dict.fromkeys(STAGES, 0)
    for path in found:
        for stage, length in path.stages.items():
            parts = stage.split("+")
            if len(parts) == 1:
                lengths.setdefault(stage, []).append(length)
            for part in parts if len(parts) > 1 else ():
                gaps[part] += 1
        if path.done:
            lengths.setdefault(TOTAL, []).append(path.total_s)
    tails = {stage: known for stage, values in lengths.items() if (known := tail(values))}
    shifts = [path.offset_s for path in found] or [0.0]
    whole = sum(path.done for path in found)
    return Summary(len(found), whole, tails, gaps, (min(shifts), max(shifts)))
