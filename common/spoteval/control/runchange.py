"""A run's record in its next generation, and the events that say so."""

from contextlib import suppress
from pathlib import Path

from spoteval.control.eventlog import log_event
from spoteval.control.refused import Refused
from spoteval.control.runfiles import read_run
from spoteval.event import Event
from spoteval.files import read_lines, write_record
from spoteval.paths import DurablePaths, RunPaths
from spoteval.run import Change, RunRecord, name_error
from spoteval.shape import Unreadable

SETTING_CHANGED = "setting-changed"


def open_record(disk: DurablePaths, name: str) -> RunRecord:
    """The record of a run that is not over; raises Refused."""
    if (why := name_error(name)) is not None:
        raise Refused(why)
    paths = disk.run(name)
    if not paths.root.exists():
        raise Refused(f'"{name}": no such run (spoteval run list)')
    if paths.end.exists():
        raise Refused(f'run "{name}" is over ({paths.end}): spoteval run new … --like {name}')
    found = read_run(paths)
    if isinstance(found, Unreadable):
        raise Refused(found.why)
    return found


def write_generation(paths: RunPaths, record: RunRecord) -> None:
    """Replace the record by its next generation, durable; what was published of earlier ones stays. Raises OSError."""
    write_record(paths.record, record.record())


def tell_changes(paths: RunPaths, record: RunRecord, session: str | None) -> None:
    """One event for each change, also for one whose event a crash has kept from the log. Raises OSError."""
    told = _told(paths.events)
    for change in record.changes:
        if change.generation not in told:
            log_event(paths.events, _event(record, change, session))


def _event(record: RunRecord, change: Change, session: str | None) -> Event:
    settings = {name: f"{before} -> {after}" for name, (before, after) in change.settings.items()}
    return Event(
        at=change.at,
        kind=SETTING_CHANGED,
        source="operator",
        instance=record.instance,
        session=session,
        reason=f"{change.reason} ({change.by})",
        detail={"run": record.name, "generation": change.generation, **settings},
    )


def _told(path: Path) -> frozenset[object]:
    """Generations of which an event is there."""
    found: set[object] = set()
    for line in read_lines(path).records:
        if line.get("kind") == SETTING_CHANGED:
            with suppress(AttributeError, KeyError, TypeError):
                found.add(line["detail"]["generation"])  # type: ignore[index]
    return frozenset(found)
