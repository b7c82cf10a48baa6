"""What a run cost, by its parts, as a range, from the events of its machines and its attempts. Pure."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from spoteval.episode import Attempt
from spoteval.event import Event
from spoteval.placement.lifetime import HOUR_S

USEFUL, STARTUP, FAILED, LOST, IDLE, STOPPED, RESTARTER = (
    *("useful", "startup", "failed restarts", "lost partial episodes", "idle"),
    *("disks and addresses while stopped", "restarter"),
)
NODE_PARTS = (USEFUL, STARTUP, FAILED, LOST, IDLE)
_STARTS = ("start-asked", "manual-start")
_READY = ("first-episode", "healthy")
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Paid:
    """A price per hour as an event recorded it."""

    amount: float
    currency: str
    kind: str
    as_of: str | None


@dataclass(frozen=True, slots=True)
class Segment:
    """One life that was billed, seconds since the epoch. `asked` and `began` bound when billing began."""

    asked: float
    began: float
    ended: float
    working: float | None
    """When episodes ran; None where they never did: a failed restart."""
    price: Paid | None
    preempted: bool = False
    rehearsed: bool = False
    is_up: bool = False
    """Whether no stop of it was seen."""

    @property
    def hours(self) -> float:
        """From RUNNING to the stop."""
        return max(0.0, self.ended - self.began) / HOUR_S

    @property
    def most_hours(self) -> float:
        """From the start call to the stop."""
        return max(0.0, self.ended - self.asked) / HOUR_S


@dataclass(slots=True)
class _Reader:
    """Walks the events of one instance."""

    fallback: Paid | None = None
    found: list[Segment] = field(default_factory=list)
    asked: Event | None = None
    up: Event | None = None
    price: Paid | None = None
    working: float | None = None
    rehearsed: bool = False
    last: datetime | None = None
    """The last sign of the life that is open: where its stop was not seen, it is billed until then."""

    def take(self, event: Event) -> None:
        """One event, in order of time."""
        if event.kind in _STARTS and self.up is None:
            self.asked = self.asked or event
            self.price = paid(event.price)
        elif event.kind == "capacity-failure" and self.up is None:
            self.asked = None  # what was refused is not billed
        elif event.kind == "running":
            if self.up is not None and self.last is not None:
                self.end(self.last, preempted=True)
            self.up, self.rehearsed = event, event.rehearsal
        elif event.kind in _READY and self.up is not None:
            at = event.at.timestamp()
            is_better = self.working is None or event.kind == "first-episode"
            self.working = at if is_better else self.working
        elif event.kind == "stopped" and self.up is not None:
            self.rehearsed |= event.rehearsal
            self.end(event.at, preempted=event.reason in ("preempted", "platform", "unknown"))
        self.last = event.at

    def end(self, at: datetime, *, preempted: bool, is_up: bool = False) -> None:
        """The life is over, or the log is."""
        if self.up is None:
            return
        asked = self.asked.at if self.asked is not None else self.up.at
        began = self.up.at.timestamp()
        working = max(began, self.working) if self.working is not None else None
        segment = Segment(
            asked=asked.timestamp(),
            began=began,
            ended=at.timestamp(),
            working=working,
            price=self.price or self.fallback,
            preempted=preempted,
            rehearsed=self.rehearsed,
            is_up=is_up,
        )
        self.found.append(segment)
        self.asked = self.up = self.working = self.price = None


def segments(
    events: Sequence[Event], until: datetime | None = None, fallback: Paid | None = None
) -> tuple[Segment, ...]:
    """The billed lives of one instance; one that is up is billed until `until`, else until its last event.

    By the restarter's events where there are any, else by the guest's: its boots and its markers. `fallback` is the
    price of a start that recorded none.
    """
    told = any(one.kind == "running" for one in events)
    return walked(events if told else tuple(_by_guest(events)), until, fallback)


def walked(
    events: Sequence[Event], until: datetime | None = None, fallback: Paid | None = None
) -> tuple[Segment, ...]:
    """As `segments`, by the restarter's events alone."""
    reader = _Reader(fallback)
    for event in events:
        reader.take(event)
    if events:
        last = events[-1].at
        end = last if until is None else max(last, until)
        reader.end(end, preempted=False, is_up=True)
    return tuple(reader.found)


def _by_guest(events: Iterable[Event]) -> Iterator[Event]:
    """What the guest says of its own life, in the restarter's words."""
    session: str | None = None
    for event in events:
        if event.kind == "booted" and event.session != session:
            session = event.session
            yield replace(event, kind="running")
        elif event.kind == "interrupted":
            yield replace(event, kind="stopped")
        elif event.kind in ("idle-stop", "end-stop"):
            yield replace(event, kind="stopped", reason="guest")
        else:
            yield event


def paid(price: Mapping[str, object] | None) -> Paid | None:
    """The price in an event; None where there is none, or none per hour."""
    if price is None or price.get("per") != "hour":
        return None
    amount = price.get("amount")
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return None
    as_of = price.get("as_of")
    kind, currency = str(price.get("kind")), str(price.get("currency"))
    return Paid(float(amount), currency, kind, as_of if isinstance(as_of, str) else None)


@dataclass(frozen=True, slots=True)
class Rates:
    """What else is on the bill, per hour; None: unknown, and not in the sum."""

    stopped: float | None = None
    restarter: float | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Money in `currency`. Low: hours from RUNNING at the lowest price. High: from the start call at the highest."""

    currency: str
    low: float
    recorded: float
    high: float
    parts: Mapping[str, float]
    """At recorded prices; their sum is `recorded`."""
    hours: Mapping[str, float]
    completed: int | None
    preemptions: int
    prices: tuple[Paid, ...]
    unpriced_h: float
    """Hours of lives without a price: they are in no sum."""

    def each(self, total: float) -> float | None:
        """Per completed, uninterrupted episode; None where none is known."""
        return total / self.completed if self.completed else None


def cost(
    by_instance: Mapping[str, Sequence[Segment]],
    attempts: Iterable[Attempt] | None,
    rates: Rates,
    completed: int | None = None,
) -> Cost | None:
    """Over all instances; None where no life has a price. Drills are left out, and a second currency is, too.

    Without attempts all time after ready counts as useful.
    """
    real = [one for found in by_instance.values() for one in found if not one.rehearsed]
    first = next((one.price for one in real if one.price is not None), None)
    if first is None:
        return None
    known = [(one, one.price) for one in real if one.price and one.price.currency == first.currency]
    spans = tuple(_spans(attempts)) if attempts is not None else None
    hours = dict.fromkeys((*NODE_PARTS, STOPPED, RESTARTER), 0.0)
    parts = dict(hours)
    for one, price in known:
        for part, length in _split(one, spans).items():
            hours[part] += length
            parts[part] += length * price.amount
    watched = {name: _watched_h(found) for name, found in by_instance.items() if found}
    up_h = math.fsum(one.hours for one in real)
    hours[STOPPED] = max(0.0, math.fsum(watched.values()) - up_h)
    hours[RESTARTER] = max(watched.values(), default=0.0)
    parts[STOPPED] = hours[STOPPED] * (rates.stopped or 0.0)
    parts[RESTARTER] = hours[RESTARTER] * (rates.restarter or 0.0)
    beside = parts[STOPPED] + parts[RESTARTER]
    amounts = [price.amount for _, price in known]
    return Cost(
        currency=first.currency,
        low=min(amounts) * math.fsum(one.hours for one, _ in known) + beside,
        recorded=math.fsum(parts.values()),
        high=max(amounts) * math.fsum(one.most_hours for one, _ in known) + beside,
        parts=parts,
        hours=hours,
        completed=completed if completed is not None else _finished(spans),
        preemptions=sum(one.preempted for one in real),
        prices=tuple(dict.fromkeys(price for _, price in known)),
        unpriced_h=up_h - math.fsum(one.hours for one, _ in known),
    )


@dataclass(frozen=True, slots=True)
class _Span:
    """One attempt: seconds since the epoch, and whether it ended by itself."""

    low: float
    high: float
    finished: bool


def _spans(attempts: Iterable[Attempt]) -> Iterator[_Span]:
    for one in attempts:
        low = one.started.timestamp() if one.started is not None else math.nan
        high = one.ended.timestamp() if one.ended is not None else math.nan
        yield _Span(low, high, one.finished)


def _finished(spans: Sequence[_Span] | None) -> int | None:
    return sum(span.finished for span in spans) if spans is not None else None


def _split(one: Segment, spans: Sequence[_Span] | None) -> dict[str, float]:
    """The hours of a life by part. Busy time is told between finished and cut attempts by their slot-hours in it."""
    if one.working is None:
        return {FAILED: one.hours}
    begin = min(one.working, one.ended)
    work_h = (one.ended - begin) / HOUR_S
    split = {STARTUP: one.hours - work_h}
    if spans is None:
        return {**split, USEFUL: work_h}
    inside = [
        (max(begin, span.low), min(one.ended, _end(span, one)), span.finished)
        for span in spans
        if span.low < one.ended and _end(span, one) > begin
    ]
    busy_h = _union_s([(low, high) for low, high, _ in inside]) / HOUR_S
    whole = math.fsum(high - low for low, high, _ in inside)
    lost = math.fsum(high - low for low, high, finished in inside if not finished)
    lost_h = busy_h * lost / whole if whole else 0.0
    return {**split, USEFUL: busy_h - lost_h, LOST: lost_h, IDLE: work_h - busy_h}


def _end(span: _Span, one: Segment) -> float:
    """An attempt that was cut may have no end of its own: it ended with the machine that it began on."""
    if not math.isnan(span.high):
        return span.high
    return one.ended if one.began <= span.low < one.ended else span.low


def _union_s(intervals: Sequence[Interval]) -> float:
    total, reached = 0.0, -math.inf
    for low, high in sorted(intervals):
        total += max(0.0, high - max(low, reached))
        reached = max(reached, high)
    return total


def _watched_h(found: Sequence[Segment]) -> float:
    """From the first start call to the end of the last life."""
    return (max(one.ended for one in found) - min(one.asked for one in found)) / HOUR_S
