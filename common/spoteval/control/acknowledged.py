"""What the follower tells idle-guard: how much is waiting, and when the store last took something.

`publication/progress.json` is a cache: rewritten when one of the two changes, of this session alone.
"""

from spoteval.clock import Mark, Now, elapsed_s
from spoteval.files import read_record, write_record
from spoteval.paths import DurablePaths
from spoteval.shape import Reading, ShapeError, Table, Unreadable

RECENT_S = 1800.0
"""Bytes that the store took within this time, while more is waiting, are work."""


def note_progress(disk: DurablePaths, session: str, backlog: int, at: Mark | None) -> None:
    """Write down what is waiting, and when the store last took something. Raises OSError."""
    record = {"session": session, "backlog": backlog, "at": at.record() if at else None}
    write_record(disk.publication_progress, record)


def publishing(disk: DurablePaths, session: str, now: Now) -> Reading[str | None]:
    """Work of the follower in words; None where nothing waits, or the store has taken nothing for RECENT_S."""
    found = read_record(disk.publication_progress)
    if not isinstance(found, Table):
        return found
    try:
        if found.text("session") != session:
            return None
        backlog, at = found.whole("backlog"), found.maybe_mark("at")
    except ShapeError as error:
        return Unreadable(str(error))
    age_s = elapsed_s(at, now) if at is not None else None
    if backlog == 0 or age_s is None or age_s > RECENT_S:
        return None
    return f"publishing: {backlog} waiting, the store took something {age_s:.0f} s ago"
