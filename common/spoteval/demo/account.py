"""What the demo ends with, counted from the records, the market's truth and the episodes' own witness."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from spoteval.control.holds import fetch, look
from spoteval.control.runfiles import Progress, progress
from spoteval.demo.layout import INSTANCE, RUN, DemoPaths
from spoteval.demo.truth import (
    Witness,
    asked_by_restarter,
    errors_that_ran,
    hold_spans,
    read_witness,
    starts_under_hold,
    unexplained_starts,
)
from spoteval.episode import classify, tally
from spoteval.event import Event, events_from
from spoteval.files import parse_record, read_lines, read_record
from spoteval.paths import DurablePaths, InstancePaths
from spoteval.publication.keys import release_key
from spoteval.shape import Table, Unreadable
from spoteval.store.contract import Store


@dataclass(frozen=True, slots=True)
class Account:
    """Everything that the summary and the JSON file say."""

    progress: Progress
    classes: Mapping[str, int]
    witness: Witness
    preemptions: int
    capacity_failures: int
    start_errors_that_ran: int
    hold_violations: int
    machine_off: bool
    both_holds: bool
    events: tuple[Event, ...]

    @property
    def lost(self) -> int:
        """Episodes that their own witness says ended and that no record of ours knows as finished."""
        ours = {key.split("/", 1)[1] for key in self.progress.finished_keys}
        return len(self.witness.ended - ours)

    @property
    def attempts(self) -> dict[str, int]:
        """Attempts by outcome; their sum is the attempts."""
        found = [
            item.outcome for item in (*self.progress.finished, *self.progress.cut) if item.outcome
        ]
        return {outcome.value: found.count(outcome) for outcome in dict.fromkeys(found)}


def all_events(paths: DemoPaths) -> tuple[Event, ...]:
    """The events of both hosts, oldest first."""
    guest = DurablePaths(paths.durable)
    files = (
        InstancePaths(paths.restarter / "state", INSTANCE).events,
        guest.run(RUN).events,
        guest.root / "events.jsonl",
    )
    return events_from(tuple(record for file in files for record in read_lines(file).records))


def history(paths: DemoPaths) -> tuple[dict[str, object], ...]:
    """What the market did."""
    return read_lines(paths.history).records


def take_account(paths: DemoPaths, store: Store) -> Account:
    """Count; raises ValueError where a record of the run cannot be read."""
    run = DurablePaths(paths.durable).run(RUN)
    found = progress(run)
    if isinstance(found, Unreadable):
        raise ValueError(found.why)
    events = all_events(paths)
    return Account(
        progress=found,
        classes=tally(classify(found.intended or (), (*found.finished, *found.cut))),
        witness=read_witness(paths.witness),
        preemptions=_preempted(history(paths)),
        capacity_failures=sum(event.kind == "capacity-failure" for event in events),
        start_errors_that_ran=errors_that_ran(history(paths)),
        hold_violations=_violations(paths, store, events),
        machine_off=cloud_state(paths.cloud) == "STOPPED",
        both_holds=DurablePaths(paths.durable).guest_hold.exists()
        and bool(look(store, INSTANCE).standing),
        events=events,
    )


def cloud_state(cloud: Path) -> str:
    """The state that the local cloud shows."""
    found = read_record(cloud / INSTANCE / "state.json")
    return found.text("state") if isinstance(found, Table) else "UNKNOWN"


def _preempted(lines: tuple[dict[str, object], ...]) -> int:
    return sum(
        line.get("phase") == "stopped" and line.get("cause") == "preempted" for line in lines
    )


def _violations(paths: DemoPaths, store: Store, events: tuple[Event, ...]) -> int:
    """The restarter's starts under any hold, and starts that nobody's record explains."""
    asked = asked_by_restarter(events)
    return starts_under_hold(asked, _spans(store)) + unexplained_starts(events, history(paths))


def _spans(store: Store) -> list[tuple[datetime, datetime | None]]:
    seen = look(store, INSTANCE)
    released = {
        hold: body.moment("at")
        for hold in seen.releases
        if isinstance(body := parse_record(store.get(release_key(INSTANCE, hold)), hold), Table)
    }
    return hold_spans(fetch(store, INSTANCE, sorted(seen.holds)), released)
