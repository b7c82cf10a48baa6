"""Event logs of one or many machines: files, directories of them, pulled runs; read once, what matters kept."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from spoteval.event import Event, event_from
from spoteval.shape import Unreadable

NAME = "events.jsonl"
_STARTS = ("start-asked", "manual-start", "capacity-failure", "start-refused", "running")
_STOPS = ("notice", "interrupted", "stopped", "idle-stop", "end-stop", "end")
_WAY = ("booted", "resume-began", "server-start", "healthy", "first-episode")
KINDS = frozenset([*_STARTS, *_STOPS, *_WAY])
"""What the figures are made of. All else only says that somebody was there to write it."""
_KEPT = re.compile(
    rb'"kind"\s*:\s*"(?:' + b"|".join(kind.encode() for kind in sorted(KINDS)) + rb')"'
)


@dataclass(slots=True)
class Logs:
    """Events by instance, oldest first, without repeats; files read, lines that could not be, the newest moment."""

    by_instance: dict[str, tuple[Event, ...]] = field(default_factory=dict)
    files: int = 0
    lines: int = 0
    damaged: int = 0
    newest: Mapping[str, datetime] = field(default_factory=dict)
    """The last event of any kind, by instance: until then the log speaks of it."""

    def all(self) -> Iterator[Event]:
        """The events of one instance after those of another."""
        for events in self.by_instance.values():
            yield from events


def log_files(places: Iterable[Path]) -> tuple[Path, ...]:
    """The logs in these files and directories; raises FileNotFoundError for a place that holds none."""
    found: dict[Path, None] = {}
    for place in places:
        here = sorted(place.rglob(NAME)) if place.is_dir() else [place]
        if not here or not here[0].is_file():
            raise FileNotFoundError(2, f"no {NAME} there", str(place))
        found.update(dict.fromkeys(path.resolve() for path in here))
    return tuple(found)


def read_logs(files: Iterable[Path]) -> Logs:
    """The events that matter; the same log read twice counts once. Raises OSError."""
    logs, by_instance = Logs(), defaultdict[str, dict[tuple[object, ...], Event]](dict)
    newest: dict[str, datetime] = {}
    for path in files:
        logs.files += 1
        for event in _events(path, logs):
            last = newest.get(event.instance)
            newest[event.instance] = event.at if last is None else max(last, event.at)
            if event.kind in KINDS:
                by_instance[event.instance][_identity(event)] = event
    for instance in sorted(by_instance):
        ordered = sorted(by_instance.pop(instance).values(), key=_moment)
        logs.by_instance[instance] = tuple(ordered)
    logs.newest = newest
    return logs


def _events(path: Path, logs: Logs) -> Iterator[Event]:
    last = b""
    with path.open("rb") as file:
        for line in file:
            logs.lines += 1
            last = line
            if _KEPT.search(line):
                yield from _event(line, logs)
    if last and not _KEPT.search(last):
        yield from _event(last, logs)


def _event(line: bytes, logs: Logs) -> Iterator[Event]:
    """A torn last line, or what no version of ours wrote, is counted and passed over."""
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    event = event_from(record) if isinstance(record, dict) else None
    if event is None or isinstance(event, Unreadable):
        logs.damaged += 1
    else:
        yield event


def _identity(event: Event) -> tuple[object, ...]:
    return event.at, event.kind, event.source, event.session, event.reason


def _moment(event: Event) -> datetime:
    return event.at
