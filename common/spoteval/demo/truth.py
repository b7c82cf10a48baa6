"""The demo's own check: what the market did and what the episodes themselves wrote, beside our records."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from spoteval.event import Event
from spoteval.hold import Hold

BY_HAND = 1
"""The one start that is not the restarter's is the person's first, made under her own hold."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Counts of the lines that episodes append: a begin, and an end once the result is safe."""

    begins: int
    ends: int
    rerun: int
    """Episodes that began again after they had ended."""
    ended: frozenset[str]


def read_witness(path: Path) -> Witness:
    """Read the lines `begin <sample> <epoch> …` and `end <sample> <epoch> …` in the order they were written."""
    ended: set[str] = set()
    rerun: set[str] = set()
    counts: Counter[str] = Counter()
    for word, sample, epoch, _ in _lines(path):
        counts[word] += 1
        key = f"{sample}/{epoch}"
        if word == "begin" and key in ended:
            rerun.add(key)
        if word == "end":
            ended.add(key)
    return Witness(counts["begin"], counts["end"], len(rerun), frozenset(ended))


def in_flight(path: Path) -> int:
    """Episodes of the newest process that began and neither ended nor were cut."""
    lines = _lines(path)
    newest = [line for line in lines if line[3] == lines[-1][3]]
    begun = sum(line[0] == "begin" for line in newest)
    return max(0, begun - (len(newest) - begun))


def starts_under_hold(
    asked: Iterable[datetime], spans: Iterable[tuple[datetime, datetime | None]]
) -> int:
    """How many of these start calls were made while a hold stood (invariant I1)."""
    held = list(spans)
    return sum(any(_within(at, since, until) for since, until in held) for at in asked)


def asked_by_restarter(events: Iterable[Event]) -> list[datetime]:
    """When the restarter asked for a start, by its own events."""
    return [event.at for event in events if event.kind == "start-asked"]


def asked_of_market(history: Iterable[Mapping[str, object]]) -> int:
    """How many start calls the market answered, whoever made them and however it answered."""
    return sum(_is_start(line) for line in history)


def unexplained_starts(events: Sequence[Event], history: Sequence[Mapping[str, object]]) -> int:
    """By how much the restarter's record and what the market saw differ.

    A call is on record before it goes out: one without an answer on record may or may not have reached the market.
    """
    difference = asked_of_market(history) - len(asked_by_restarter(events)) - BY_HAND
    answered = sum(event.kind == "start-answered" for event in events)
    unanswered = max(0, len(asked_by_restarter(events)) - answered)
    return max(difference, -difference - unanswered, 0)


def hold_spans(
    holds: Iterable[Hold], released: Mapping[str, datetime]
) -> list[tuple[datetime, datetime | None]]:
    """From when to when each hold stood."""
    return [(hold.at, released.get(hold.id)) for hold in holds if hold.at is not None]


def refused(answered: Event) -> bool:
    """Whether a start call was answered with anything but "accepted"."""
    return answered.evidence != "accepted"


def errors_that_ran(history: Iterable[Mapping[str, object]]) -> int:
    """Start calls that the market answered with an error while the start went on to RUNNING."""
    count, failed = 0, False
    for line in history:
        if _is_start(line):
            failed = line.get("status") != 200
        elif line.get("what") == "running" and failed:
            count, failed = count + 1, False
    return count


def _is_start(line: Mapping[str, object]) -> bool:
    """A call that is refused for want of capacity is one, with a status; a start that finds none later is not."""
    asked = line.get("what") in ("start-asked", "start-conflict")
    return asked or (line.get("what") == "capacity" and line.get("status") is not None)


def _within(at: datetime, since: datetime, until: datetime | None) -> bool:
    return since <= at and (until is None or at <= until)


def _lines(path: Path) -> list[tuple[str, str, str, str]]:
    """Word, sample, epoch and process of each line; none before the first episode wrote."""
    if not path.exists():
        return []
    found = (line.split() for line in path.read_text().splitlines())
    return [(words[0], words[1], words[2], words[3]) for words in found if len(words) >= 4]
