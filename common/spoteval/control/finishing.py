"""Ending a run early: a request on the disk, which end-handler obeys as it does a deadline."""

from dataclasses import dataclass
from datetime import datetime

from spoteval.clock import Now
from spoteval.control.eventlog import log_event
from spoteval.event import Event
from spoteval.files import read_record, write_new_record
from spoteval.paths import RunPaths
from spoteval.run import RunRecord
from spoteval.shape import Reading, ShapeError, Unreadable


@dataclass(frozen=True, slots=True)
class Finish:
    """Who declared the run over, when and why."""

    by: str
    reason: str
    at: datetime

    @property
    def text(self) -> str:
        """In one line."""
        return f'"{self.reason}" ({self.by})'


def ask_finish(paths: RunPaths, record: RunRecord, finish: Finish, session: str, now: Now) -> bool:
    """Declare the run over, durable; False where somebody has already, whose reason stands. Raises OSError."""
    body = {"at": now.record(), "by": finish.by, "reason": finish.reason}
    if not write_new_record(paths.finish, body):
        return False
    event = Event(
        at=now.wall,
        kind="finish-asked",
        source="operator",
        instance=record.instance,
        session=session,
        reason=finish.reason,
        detail={"run": record.name, "by": finish.by},
    )
    log_event(paths.events, event)
    return True


def read_finish(paths: RunPaths) -> Reading[Finish | None]:
    """The request; None where there is none. One that is damaged is a request all the same."""
    found = read_record(paths.finish)
    if found is None or isinstance(found, Unreadable):
        return found
    try:
        return Finish(found.text("by"), found.text("reason"), found.mark("at").wall)
    except ShapeError as error:
        return Unreadable(str(error))
