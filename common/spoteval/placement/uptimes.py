"""Uptimes from events: from RUNNING to the stop, and what each stop was counted as, and why. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from spoteval.event import Event
from spoteval.placement.lifetime import HOUR_S, Life

PREEMPTION, CENSORED, LEFT_OUT = "preemption", "censored", "left out"
REHEARSED = "a drill"
_WHY = {
    "preempted": (PREEMPTION, "the provider took it"),
    "platform": (PREEMPTION, "the provider's platform ended it"),
    "unknown": (PREEMPTION, "nobody knows why it stopped: counted against the pool"),
    "user": (CENSORED, "a person stopped it"),
    "guest": (CENSORED, "the guest powered itself off (done, or idle)"),
    "restarter": (CENSORED, "our own stop"),
}
_STILL = (CENSORED, "still up at the end of the log")
_UNSEEN = (PREEMPTION, "the stop was not seen: it lies between two events")
_OTHER = (CENSORED, "another cause")
_GUEST_STOPS = {"idle-stop": "guest", "end-stop": "guest"}
_READY = ("healthy", "first-episode")


@dataclass(frozen=True, slots=True)
class Uptime:
    """One life of one machine, in hours. `ready_h`: from its start until the server answered; None: never seen."""

    instance: str
    began: datetime
    life: Life
    counted: str
    why: str
    ready_h: float | None = None
    reports_ready: bool = False
    """Whether anything would have told us that the server was ready."""


@dataclass(slots=True)
class _Open:
    began: datetime
    session: str | None
    last: datetime
    ready: datetime | None = None
    booted: bool = False
    rehearsed: bool = False


@dataclass(slots=True)
class _Reader:
    """Walks the events of one instance."""

    by_guest: bool
    found: list[Uptime] = field(default_factory=list)
    open: _Open | None = None
    instance: str = ""

    def take(self, event: Event) -> None:
        self.instance = event.instance
        began = "booted" if self.by_guest else "running"
        if event.kind == began:
            self._begin(event)
        elif self.open is not None:
            self._within(self.open, event)

    def close(self, until: datetime) -> None:
        """At the end of the log."""
        if self.open is not None:
            self._end(self.open, max(until, self.open.last), _STILL)

    def _begin(self, event: Event) -> None:
        if self.open is not None:
            if self.by_guest and event.session == self.open.session:
                return
            self._unseen(self.open, event.at)
        self.open = _Open(event.at, event.session, event.at, None, self.by_guest, event.rehearsal)

    def _within(self, open_: _Open, event: Event) -> None:
        open_.rehearsed |= event.rehearsal
        open_.booted |= event.kind == "booted"
        if event.kind in _READY and open_.ready is None:
            open_.ready = max(event.at, open_.began)
        cause = self._cause(event)
        if cause is None:
            open_.last = max(open_.last, event.at)
            return
        self._end(open_, event.at, _WHY.get(cause, _OTHER), event)

    def _cause(self, event: Event) -> str | None:
        """Why this event ends a life; None where it ends none."""
        if not self.by_guest:
            return (event.reason or "unknown") if event.kind == "stopped" else None
        if event.kind == "interrupted":
            return event.reason if event.reason in _WHY else "unknown"
        return _GUEST_STOPS.get(event.kind)

    def _end(
        self, open_: _Open, at: datetime, counted: tuple[str, str], stop: Event | None = None
    ) -> None:
        hours = _hours(open_.began, at)
        up_s = stop.detail.get("up_s") if stop is not None else None
        if isinstance(up_s, int | float) and not isinstance(up_s, bool) and up_s >= 0:
            hours = up_s / HOUR_S  # by one clock of one host
        self._keep(open_, Life(hours, hours, counted[0] == PREEMPTION), counted, stop)

    def _unseen(self, open_: _Open, next_: datetime) -> None:
        low, high = _hours(open_.began, open_.last), _hours(open_.began, next_)
        self._keep(open_, Life(low, max(low, high), preempted=True), _UNSEEN)

    def _keep(
        self, open_: _Open, life: Life, counted: tuple[str, str], stop: Event | None = None
    ) -> None:
        ready_h = _hours(open_.began, open_.ready) if open_.ready is not None else None
        said = stop.detail.get("healthy") if stop is not None else None
        if said is False:
            ready_h = None
        word, why = (LEFT_OUT, REHEARSED) if open_.rehearsed else counted
        told = open_.booted or isinstance(said, bool)
        self.found.append(Uptime(self.instance, open_.began, life, word, why, ready_h, told))
        self.open = None


def uptimes(events: Sequence[Event], until: datetime | None = None) -> tuple[Uptime, ...]:
    """Every life of one instance; the last may still be open at `until`, else at its last event.

    By the restarter's events where there are any, else by the guest's own: its boots and its markers.
    """
    reader = _Reader(by_guest=not any(event.kind == "running" for event in events))
    for event in events:
        reader.take(event)
    if events:
        last = events[-1].at
        reader.close(last if until is None else max(until, last))
    return tuple(reader.found)


def every_uptime(
    by_instance: Mapping[str, Sequence[Event]], newest: Mapping[str, datetime]
) -> tuple[Uptime, ...]:
    """Of all instances."""
    return tuple(
        one
        for instance, events in by_instance.items()
        for one in uptimes(events, newest.get(instance))
    )


def lives(found: Iterable[Uptime]) -> tuple[Life, ...]:
    """What the estimates are made of: without rehearsals."""
    return tuple(one.life for one in found if one.counted != LEFT_OUT)


def after_ready(found: Iterable[Uptime]) -> Iterator[Life]:
    """Useful lives, from ready to the end, of those that got there."""
    for one in found:
        if one.counted != LEFT_OUT and one.ready_h is not None:
            ready_h = one.ready_h
            yield replace(
                one.life,
                low_h=max(0.0, one.life.low_h - ready_h),
                high_h=max(0.0, one.life.high_h - ready_h),
            )


def tally(found: Iterable[Uptime]) -> dict[tuple[str, str], int]:
    """How many ends were counted as what, and why."""
    counts: dict[tuple[str, str], int] = {}
    for one in found:
        key = (one.counted, one.why)
        counts[key] = counts.get(key, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (item[0][0] != PREEMPTION, -item[1])))


def _hours(began: datetime, ended: datetime) -> float:
    return max(0.0, (ended - began).total_seconds()) / HOUR_S
