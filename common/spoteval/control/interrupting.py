"""The records of an interruption on the disk: opened before anything else, closed once, never rewritten."""

from pathlib import Path

from spoteval.files import (
    append_line,
    lay_spare,
    make_folder,
    move_spare,
    read_record,
    write_new_record,
    write_spare,
)
from spoteval.interruption import Closed, Opened, opened_from
from spoteval.paths import DurablePaths, RunPaths
from spoteval.run import name_error
from spoteval.shape import Table
from spoteval.steps import StepResult

OPENED, CLOSED, STEPS, SALVAGE = "opened.json", "closed.json", "steps.jsonl", "salvage"


def spare_of(durable: DurablePaths) -> Path:
    """Where the space for the next marker lies. Outside the runs: nobody takes it for an interruption."""
    return durable.root / "spare"


def prepare(durable: DurablePaths, run: RunPaths) -> None:
    """Take the space that the next marker of this run needs. Raises OSError where the disk is full already."""
    make_folder(run.interruptions)
    spare = spare_of(durable)
    if not (spare / OPENED).exists():
        lay_spare(spare, OPENED)


def adopt(durable: DurablePaths) -> str | None:
    """Finish a marker that was cut off between its writing and its place; the id, None where there is none."""
    spare = spare_of(durable)
    found = read_record(spare / OPENED)
    opened = opened_from(found) if isinstance(found, Table) else None
    if not isinstance(opened, Opened) or name_error(opened.run) is not None:
        return None
    target = durable.run(opened.run).interruptions / opened.id
    if target.exists() or not target.parent.is_dir():
        return None
    move_spare(spare, target)
    return opened.id


def open_marker(durable: DurablePaths, opened: Opened) -> Path:
    """Write opened.json, durable when it returns, also on a full disk; returns the interruption's folder.

    Once more with the same id changes nothing.
    """
    folder = durable.run(opened.run).interruptions / opened.id
    if not (folder / OPENED).exists():
        write_spare(spare_of(durable), OPENED, opened.record(), folder)
    return folder


def record_step(folder: Path, result: StepResult) -> None:
    """Append how one step went."""
    append_line(folder / STEPS, result.record())


def close_marker(folder: Path, closed: Closed) -> bool:
    """Write closed.json; False where it is there already, which stands."""
    return write_new_record(folder / CLOSED, closed.record())
