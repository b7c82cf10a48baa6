"""The runs of a durable disk, and the runs of a store."""

from collections.abc import Iterable

from spoteval.clock import stamp
from spoteval.control.runfiles import active_run, progress, read_run
from spoteval.files import parse_record
from spoteval.paths import DurablePaths
from spoteval.report.runs import RunLine
from spoteval.run import RunRecord, run_from
from spoteval.shape import Reading, ShapeError, Table, Unreadable
from spoteval.store.contract import Store


def on_disk(disk: DurablePaths) -> tuple[RunLine, ...]:
    """Every run of the disk, by name."""
    names = sorted(path.name for path in disk.runs.iterdir()) if disk.runs.is_dir() else []
    active = active_run(disk)
    return tuple(_disk_line(disk, name, name == active) for name in names)


def in_store(store: Store) -> tuple[RunLine, ...]:
    """Every run of the store, by name; raises StoreError."""
    by_run: dict[str, list[str]] = {}
    for item in store.list("runs/"):
        _, run, *_ = item.key.split("/")
        by_run.setdefault(run, []).append(item.key)
    return tuple(_store_line(store, run, keys) for run, keys in by_run.items())


def stored_record(store: Store, run: str) -> Reading[RunRecord]:
    """The newest generation of a run's record in the store; raises StoreError."""
    keys = [item.key for item in store.list(f"runs/{run}/record/")]
    if not keys:
        return Unreadable(f'"{run}": no such run in {store.url} (spoteval run list)')
    found = parse_record(store.get(keys[-1]), keys[-1])
    return found if isinstance(found, Unreadable) else run_from(found)


def newest_heartbeat(store: Store, keys: Iterable[str]) -> Table | None:
    """The newest sign of life among these keys, by its own time; raises StoreError."""
    newest: dict[str, str] = {}
    for key in sorted(keys):
        parts = key.split("/")
        if parts[2:3] == ["heartbeat"]:
            newest[parts[3]] = key  # the last of each session
    bodies = [parse_record(store.get(key), key) for key in newest.values()]
    tables = [table for table in bodies if isinstance(table, Table)]
    return max(tables, key=lambda table: str(table.values.get("at")), default=None)


def _disk_line(disk: DurablePaths, name: str, active: bool) -> RunLine:
    paths = disk.run(name)
    state = "over" if paths.end.exists() else "active" if active else "made"
    found = progress(paths)
    if isinstance(found, Unreadable):
        return _line(name, state, read_run(paths), None, None)
    intended = len(found.intended) if found.intended is not None else None
    return _line(name, state, read_run(paths), len(found.finished_keys), intended)


def _store_line(store: Store, run: str, keys: list[str]) -> RunLine:
    beat = newest_heartbeat(store, keys)
    state = "over" if f"runs/{run}/end.json" in keys else "begun" if beat else "made"
    return _line(
        run, state, stored_record(store, run), _count(beat, "finished"), _count(beat, "intended")
    )


def _line(
    name: str,
    state: str,
    record: Reading[RunRecord],
    finished: int | None,
    intended: int | None,
) -> RunLine:
    if isinstance(record, Unreadable):
        return RunLine(name, "unreadable", "?", "?", "?", finished, intended)
    plan = record.plan
    return RunLine(name, state, plan.label, plan.harness, stamp(record.created), finished, intended)


def _count(beat: Table | None, key: str) -> int | None:
    try:
        found = beat.maybe_number(key) if beat is not None else None
    except ShapeError:
        return None
    return int(found) if found is not None else None
