"""Inspect's sample buffer: the database in which a living log keeps its samples until the next flush.

After a kill it is the only place that names the samples that were running. It lies in the harness's
data directory, one file for each log and process: `samplebuffer/<hash>/<log name>.<pid>.db`.
"""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from spoteval.shape import Reading, Unreadable

_BUSY_S = 2.0
SIDECARS = ("-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Buffer:
    """One database: the log it belongs to, the process that made it, and its rows (sample summaries)."""

    path: Path
    log: str
    pid: int
    rows: tuple[dict[str, Any], ...]


def database_files(home: Path) -> list[Path]:
    """The files of the buffers: who saw none of them change knows that no row was written.

    The index beside a -wal is left out: readers write to it as well.
    """
    found = (home / ".local/share/inspect_ai/samplebuffer").glob("*/*.db*")
    return sorted(path for path in found if not path.name.endswith(SIDECARS[1]))


def buffers(home: Path) -> Iterator[Reading[Buffer]]:
    """Every sample buffer below the harness's home, oldest name first."""
    root = home / ".local/share/inspect_ai/samplebuffer"
    for path in sorted(root.glob("*/*.db")):
        log, _, pid = path.name.removesuffix(".db").rpartition(".")
        if log.endswith(".eval") and pid.isdigit() and path.is_file() and not path.is_symlink():
            rows = _rows(path)
            yield rows if isinstance(rows, Unreadable) else Buffer(path, log, int(pid), rows)


def damaged(home: Path) -> Iterator[tuple[Path, str]]:
    """The databases that SQLite itself calls damaged, with its words, and the files beside them.

    Inspect never syncs a buffer (`PRAGMA synchronous=OFF`): the power may go between any two of its pages.
    """
    for path in database_files(home):
        if path.suffix == ".db" and not path.is_symlink() and (why := _damage(path)) is not None:
            beside = (path.with_name(path.name + end) for end in SIDECARS)
            yield from ((file, why) for file in (path, *beside) if file.is_file())


def _damage(path: Path) -> str | None:
    try:
        _queried(path, "mode=ro")
    except sqlite3.OperationalError:
        return None  # locked, or not to be opened: that says nothing of its pages
    except (sqlite3.DatabaseError, ValueError) as error:
        return f"is damaged ({error})"
    return None


def _rows(path: Path) -> Reading[tuple[dict[str, Any], ...]]:
    try:
        return _queried(path, "mode=ro")
    except sqlite3.OperationalError as error:
        return () if _was_never_set_up(error) else _rows_at_rest(path, str(error))
    except (sqlite3.Error, ValueError) as error:
        return Unreadable(f"{path}: {error}")


def _rows_at_rest(path: Path, why: str) -> Reading[tuple[dict[str, Any], ...]]:
    """Who may not write beside a database cannot open it once its -wal and -shm are gone.

    Then no process has it open either, and it can be read as a file that nobody changes.
    """
    if not path.exists():
        return ()  # its log was closed just now
    if path.with_name(path.name + SIDECARS[0]).exists():
        return Unreadable(f"{path}: {why}")
    try:
        return _queried(path, "immutable=1")
    except (sqlite3.Error, ValueError) as error:
        return () if _was_never_set_up(error) else Unreadable(f"{path}: {error}")


def _was_never_set_up(error: Exception) -> bool:
    """Made, and killed before it had its tables; or the power went before they were on the disk."""
    return isinstance(error, sqlite3.OperationalError) and "no such table" in str(error)


def _queried(path: Path, option: str) -> tuple[dict[str, Any], ...]:
    """A reader in WAL mode never holds up the writer."""
    connection = sqlite3.connect(f"file:{quote(str(path))}?{option}", uri=True, timeout=_BUSY_S)
    try:
        found = connection.execute("SELECT data FROM samples ORDER BY rowid").fetchall()
    finally:
        connection.close()
    return tuple(row for (text,) in found if isinstance(row := json.loads(text), dict))
