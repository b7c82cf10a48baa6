"""When a run may be done: a range, from its own record. Pure.

Early: the machine is never taken away again, and episodes end a little faster than they did. Late: it is away for as
much of the time as so far and somewhat more, and they end a little slower. "A little" is 1.28 standard deviations of a
count, which is what chance alone does to four of five counts.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from spoteval.clock import stamp
from spoteval.report.timeline import WORK, Piece
from spoteval.shape import Reading, Unreadable

_DEVIATIONS = 1.28
LEAST = 10
"""Finished episodes below which no rate is worth a date."""


@dataclass(frozen=True, slots=True)
class Eta:
    """The run may be done between these two."""

    earliest: datetime
    latest: datetime

    def record(self) -> dict[str, object]:
        """As JSON."""
        return {"earliest": stamp(self.earliest), "latest": stamp(self.latest)}


@dataclass(frozen=True, slots=True)
class Pace:
    """Since the first episode: seconds of work, seconds away, and how often it was taken away."""

    work_s: float
    away_s: float
    outages: int


def pace(pieces: Iterable[Piece], since: datetime) -> Pace:
    """The pace since the run's first episode began. Marks have no length and count for nothing."""
    work_s = away_s = 0.0
    outages, was_away = 0, False
    for piece in pieces:
        length_s = (piece.ended - max(piece.began, since)).total_seconds()
        if piece.is_mark or length_s <= 0:
            continue
        is_away = piece.cell != WORK
        outages += is_away and not was_away
        was_away = is_away
        work_s, away_s = (work_s, away_s + length_s) if is_away else (work_s + length_s, away_s)
    return Pace(work_s, away_s, outages)


def eta(finished: int, left: int, seen: Pace, now: datetime) -> Reading[Eta]:
    """When the `left` episodes may be finished; Unreadable while too little was seen."""
    if finished < LEAST:
        return Unreadable(f"not before {LEAST} episodes are finished")
    if seen.work_s <= 0:
        return Unreadable("no work was seen")
    spread = _DEVIATIONS * math.sqrt(finished)
    early_s = left * seen.work_s / (finished + spread)
    late_s = left * seen.work_s / (finished - spread) * (1.0 + _away_share(seen))
    return Eta(now + timedelta(seconds=early_s), now + timedelta(seconds=late_s))


def _away_share(seen: Pace) -> float:
    """Seconds away for each of work, with so many more outages as chance may bring."""
    if seen.outages == 0:
        return 0.0
    more = (seen.outages + _DEVIATIONS * math.sqrt(seen.outages)) / seen.outages
    return seen.away_s / seen.work_s * more


def between(found: Eta, now: datetime) -> str:
    """The range as people say it: "Thu 03:00–18:00", "today 09:10–09:40", with a date where a weekday could mislead."""
    early, late = _rounded(found.earliest, found, now), _rounded(found.latest, found, now)
    if early == late:
        return _day(early, now)
    same_day = early.date() == late.date()
    return f"{_day(early, now)}–{f'{late:%H:%M}' if same_day else _day(late, now)}"


def spare(found: Eta, deadline: datetime) -> str:
    """How much earlier than the deadline: "14–29 h to spare", "3–9 h too late", "2 h too late to 5 h to spare"."""
    least_s = (deadline - found.latest).total_seconds()
    most_s = (deadline - found.earliest).total_seconds()
    size, unit = (3600.0, "h") if max(abs(least_s), abs(most_s)) >= 7200 else (60.0, "min")
    least, most = round(least_s / size), round(most_s / size)
    if least >= 0:
        return f"{_range(least, most)} {unit} to spare"
    if most <= 0:
        return f"{_range(-most, -least)} {unit} too late"
    return f"{-least} {unit} too late to {most} {unit} to spare"


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"


def _rounded(at: datetime, found: Eta, now: datetime) -> datetime:
    """To the hour, to ten minutes where it is soon, to the minute where it is very soon."""
    ahead_s = (found.latest - now).total_seconds()
    step_s = 3600 if ahead_s >= 6 * 3600 else 600 if ahead_s >= 3600 else 60
    return datetime.fromtimestamp(round(at.timestamp() / step_s) * step_s, tz=at.tzinfo)


def _day(at: datetime, now: datetime) -> str:
    if at.date() == now.date():
        return f"today {at:%H:%M}"
    return f"{at:%a %H:%M}" if at - now < timedelta(days=6) else f"{at:%a %d %b %H:%M}"
