"""A run's `work/` directory as a harness left it, put together from recorded files."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spoteval.run import RunPlan, RunRecord

RECORDED = Path(__file__).parent / "data/inspect"
BEGIN = datetime(2020, 1, 1, 8, tzinfo=UTC)  # past, whatever clock the tests run under
DEAD_PID = (1 << 22) + 17


def run_of(harness: str, **plan: Any) -> RunRecord:
    """A run record with this much of a plan."""
    chosen = {"harness": harness, "settlement": "fresh_budget", **plan}
    return RunRecord("demo", "gpu-1", 1, BEGIN, RunPlan(**chosen))


def inspect_work(work: Path, names: Iterable[str]) -> Path:
    """`work` with these recorded logs, written a minute apart in this order; returns the log directory."""
    logs = work / "logs"
    logs.mkdir(parents=True)
    for minute, name in enumerate(names):
        shutil.copy(RECORDED / f"{name}.eval", logs)
        written(logs / f"{name}.eval", minute)
    return logs


def written(path: Path, minute: int) -> None:
    """Let a file have been written so many minutes after the begin."""
    moment = BEGIN.timestamp() + 60 * minute
    os.utime(path, (moment, moment))


def killed_rows() -> list[dict[str, Any]]:
    """What the killed process had in its buffer: one sample that ended, one that was running."""
    rows: list[dict[str, Any]] = json.loads((RECORDED / "killed.rows.json").read_text())
    return rows


def buffer(
    work: Path, rows: Iterable[Mapping[str, Any]], log: str = "killed.eval", pid: int = DEAD_PID
) -> Path:
    """A sample buffer as a killed process leaves it: the rows lie in the -wal beside it."""
    folder = work / "home/.local/share/inspect_ai/samplebuffer/0f3c"
    folder.mkdir(parents=True, exist_ok=True)
    living = folder / "living"
    connection = sqlite3.connect(living)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE samples (id TEXT, epoch INTEGER, data TEXT)")
    for row in rows:
        values = (str(row["id"]), row["epoch"], json.dumps(row))
        connection.execute("INSERT INTO samples VALUES (?, ?, ?)", values)
    connection.commit()
    path = folder / f"{log}.{pid}.db"
    for end in ("", "-wal", "-shm"):
        shutil.copy(f"{living}{end}", f"{path}{end}")
    connection.close()
    living.unlink()
    return path
