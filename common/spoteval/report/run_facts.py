"""What is known of a run: from the guest's disk, or from what was published of it."""

from dataclasses import dataclass, replace
from datetime import datetime

from spoteval.clock import parse_stamp
from spoteval.control.runfiles import Progress, progress, read_run
from spoteval.episode import Attempt, attempt_from
from spoteval.event import Event, events_from
from spoteval.files import parse_lines, parse_record, read_lines
from spoteval.paths import DurablePaths
from spoteval.publication.keys import run_prefix
from spoteval.publication.layout import Layout, layout
from spoteval.publication.tree import TreeFile, tree_files
from spoteval.report.run_list import newest_heartbeat
from spoteval.run import RunRecord, run_from
from spoteval.settlement import settled_attempts
from spoteval.shape import Reading, ShapeError, Table, Unreadable
from spoteval.store.contract import Store

_READ = ("run.json", "intended.json", "events.jsonl", "finished.jsonl", "settlement.jsonl")


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run as it is known here. None: unknown here."""

    name: str
    record: Reading[RunRecord]
    progress: Reading[Progress]
    events: tuple[Event, ...] = ()
    over: bool = False
    in_flight: int | None = None
    published: frozenset[str] | None = None
    """Episodes with a manifest in the store."""
    withheld: int | None = None
    """Files and episodes that hold a secret, as the guest told it last."""
    sign: datetime | None = None
    """The guest's last sign of life that reached the store, and the stage that it told."""
    stage: str | None = None


def from_disk(disk: DurablePaths, run: str) -> RunFacts:
    """By the guest's own files. Raises OSError."""
    paths = disk.run(run)
    return RunFacts(
        name=run,
        record=read_run(paths),
        progress=progress(paths),
        events=events_from(read_lines(paths.events).records),
        over=paths.end.exists(),
    )


def boot_events(disk: DurablePaths) -> tuple[Event, ...]:
    """The guest's events of boots without a run. Raises OSError."""
    return events_from(read_lines(disk.root / "events.jsonl").records)


def from_store(store: Store, run: str) -> RunFacts:
    """By what was published; raises StoreError."""
    objects = tuple(store.list(run_prefix(run)))
    found = layout(run, objects)
    texts = _texts(store, run, found)
    beat = newest_heartbeat(store, [item.key for item in objects])
    return RunFacts(
        name=run,
        record=_record(texts, run),
        progress=_progress(texts),
        events=events_from(parse_lines(texts.get("events.jsonl", b"")).records),
        over="end.json" in found.whole,
        in_flight=_count(beat, "in_flight"),
        published=frozenset(item.episode for item in found.attempts if item.manifest is not None),
        withheld=_count(beat, "withheld"),
        sign=_sign(beat),
        stage=_stage(beat),
    )


def with_store(own: RunFacts, stored: RunFacts) -> RunFacts:
    """What the disk knows, with what only the store can tell."""
    return replace(
        own,
        published=stored.published,
        withheld=stored.withheld,
        in_flight=stored.in_flight,
        sign=stored.sign,
    )


def _texts(store: Store, run: str, found: Layout) -> dict[str, bytes]:
    """The few files that say how a run stands; episodes and harness files are not fetched."""
    small = Layout(
        whole={path: item for path, item in found.whole.items() if path in _READ},
        logs={path: item for path, item in found.logs.items() if path in _READ},
    )
    read = tree_files(store, run, small)
    return {item.path: item.data for item in read if isinstance(item, TreeFile)}


def _record(texts: dict[str, bytes], run: str) -> Reading[RunRecord]:
    if "run.json" not in texts:
        return Unreadable(f'"{run}": no record in the store')
    found = parse_record(texts["run.json"], f"{run}/run.json")
    return found if isinstance(found, Unreadable) else run_from(found)


def _progress(texts: dict[str, bytes]) -> Reading[Progress]:
    lines = parse_lines(texts.get("finished.jsonl", b"")).records
    finished = [item for line in lines if isinstance(item := attempt_from(line), Attempt)]
    cut = settled_attempts(parse_lines(texts.get("settlement.jsonl", b"")).records)
    if "intended.json" not in texts:
        return Progress(None, tuple(finished), cut)
    table = parse_record(texts["intended.json"], "intended.json")
    try:
        if isinstance(table, Unreadable):
            return table
        return Progress(table.texts("episodes"), tuple(finished), cut)
    except ShapeError as error:
        return Unreadable(str(error))


def _count(beat: Table | None, key: str) -> int | None:
    value = beat.values.get(key) if beat is not None else None
    return value if isinstance(value, int) else None


def _stage(beat: Table | None) -> str | None:
    stage = beat.values.get("stage") if beat is not None else None
    return stage if isinstance(stage, str) else None


def _sign(beat: Table | None) -> datetime | None:
    at = beat.values.get("at") if beat is not None else None
    try:
        return parse_stamp(at) if isinstance(at, str) else None
    except ValueError:
        return None
