"""The demo's own check: what the market did and what the episodes themselves wrote, beside our records."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from spoteval.event import Event
from spoteval.hold import Hold


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
    """How many start calls the market saw, whoever made them."""
    return sum(line.get("what") == "start-asked" for line in history)


def hold_spans(
    holds: Iterable[Hold], released: Mapping[str, datetime]
) -> list[tuple[datetime, datetime | None]]:
    """From when to when each hold stood."""
    return [(hold.at, released.get(hold.id)) for hold in holds if hold.at is not None]


def refused(answered: Event) -> bool:
    """Whether a start call was answered with anything but "accepted"."""
    return answered.evidence != "accepted"


def errors_that_ran(events: Iterable[Event]) -> int:
    """Start calls that answered an error while the start went on to RUNNING."""
    count, failed = 0, False
    for event in events:
        if event.kind == "start-asked":
            failed = False
        elif event.kind == "start-answered":
            failed = refused(event)
        elif event.kind == "running" and failed:
            count, failed = count + 1, False
    return count


def _within(at: datetime, since: datetime, until: datetime | None) -> bool:
    return since <= at and (until is None or at <= until)


def _lines(path: Path) -> list[tuple[str, str, str, str]]:
    """Word, sample, epoch and process of each line; none before the first episode wrote."""
    if not path.exists():
        return []
    found = (line.split() for line in path.read_text().splitlines())
    return [(words[0], words[1], words[2], words[3]) for words in found if len(words) >= 4]
