"""What is whole of a file that changes in place: nothing half-written goes over a whole one.

A database is copied by SQLite's own backup (sqlite.org/backup.html), which sees what its log (`-wal`) holds and what
other processes write meanwhile. A zip waits until its directory can be read, a `.json` until it is one JSON value.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from spoteval.clock import monotonic_s
from spoteval.files import remove
from spoteval.publication.keys import state_prefix
from spoteval_agents.publication_follower.evidence import (
    Changed,
    Evidence,
    Torn,
    ident_of,
    opened,
    refuse_outside,
    take,
)
from spoteval_agents.publication_follower.sending import Target
from spoteval_agents.publication_follower.whole import torn_json, torn_zip
from spoteval_agents.publication_follower.work import Ident

COPY_S = 4.0
"""Longest copy of a database: who writes to one without a `-wal` waits meanwhile, mostly 5 s (sqlite3.connect)."""
_PAGES = 256
_BUSY_S = 0.5
_SQLITE = b"SQLite format 3\0"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_WAL = "-wal"


def take_state(
    target: Target, name: str, path: Path, clock: Callable[[], float] = monotonic_s
) -> tuple[Evidence, Ident]:
    """What may be published of a state file, and how the file was then. Raises what `take` raises, and Torn."""
    refuse_outside(path, target.paths.root)
    began = state_ident(path)
    with opened(path) as file:
        head = file.read(len(_SQLITE))
        if head.startswith(_ZIP) and (why := torn_zip(file)) is not None:
            raise Torn(path, why)
    if head == _SQLITE:
        return _database(target, name, path, clock), began
    found = take(path, target.paths.root, screen=target.screen)
    if path.suffix == ".json" and (why := torn_json(path, found.data)) is not None:
        raise Torn(path, why)
    return found, began


def state_ident(path: Path) -> Ident:
    """The file as stat shows it, its `-wal` included, in which a database grows meanwhile. Raises OSError."""
    own = ident_of(path)
    with suppress(FileNotFoundError):
        log = ident_of(path.with_name(path.name + _WAL))
        return Ident(
            own.inode,
            own.size + log.size,
            max(own.mtime_ns, log.mtime_ns),
            max(own.ctime_ns, log.ctime_ns),
        )
    return own


def _database(target: Target, name: str, path: Path, clock: Callable[[], float]) -> Evidence:
    """A consistent copy. While it is being sent in parts, over several passes, it stays the one that it is."""
    copy = target.scratch / "state.sqlite"
    owner = target.journal.progress.get(str(copy))
    under_way = any(
        key.startswith(state_prefix(target.run, name)) for key in target.journal.uploads
    )
    if not (owner == name and under_way and copy.exists()):
        target.scratch.mkdir(parents=True, exist_ok=True)
        remove(copy)
        _copied(path, copy, clock() + COPY_S, clock)
        target.journal.progress[str(copy)] = name
    return take(copy, target.scratch, screen=target.screen)


def _copied(path: Path, copy: Path, until_s: float, clock: Callable[[], float]) -> None:
    """Raises Changed where it could not be copied now: locked, damaged for the moment, or too large for the time."""

    def bounded(status: int, left: int, total: int) -> None:  # noqa: ARG001
        if clock() >= until_s:
            raise Changed(f"{path}: {left} of {total} pages not copied within {COPY_S:.0f} s")

    try:
        with closing(_read_only(path)) as source, closing(sqlite3.connect(copy)) as into:
            into.execute("PRAGMA synchronous = OFF")
            # One moment for all pages: else each write of another process begins the copy anew.
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
            source.backup(into, pages=_PAGES, progress=bounded, sleep=0.01)
    except sqlite3.Error as error:
        raise Torn(path, f"no copy of the database: {error}") from error


def _is_wal(path: Path) -> bool:
    """Whether its header says that it is in WAL mode (sqlite.org/fileformat.html, 1.3.3)."""
    with path.open("rb") as file:
        return file.read(20)[18:] == b"\2\2"


def _read_only(path: Path) -> sqlite3.Connection:
    """A connection that cannot write.

    Of a database in WAL mode that nobody has open, a reader would have to make its index, for which it may lack the
    right; such a one changes no more, and is read as it lies.
    """
    name = f"file:{quote(str(path))}?"
    found = sqlite3.connect(f"{name}mode=ro", uri=True, timeout=_BUSY_S, isolation_level=None)
    try:
        found.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        found.close()
        log = path.with_name(path.name + _WAL)
        is_refused = error.sqlite_errorcode & 0xFF in (
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_READONLY,
        )
        if not is_refused or not _is_wal(path) or (log.exists() and log.stat().st_size):
            raise
        return sqlite3.connect(f"{name}immutable=1", uri=True, isolation_level=None)
    return found
