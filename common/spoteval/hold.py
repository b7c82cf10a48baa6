"""Holds: while one stands, nothing is started. Sets of ids, no clock and no order."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from spoteval.clock import stamp
from spoteval.shape import Reading, ShapeError, Table, Unreadable

UNREAD_BY = "unknown"
"""Who placed a hold whose body could not be read."""


@dataclass(frozen=True, slots=True)
class Hold:
    """One hold on an instance.

    `ensure_stopped` asks the restarter to stop the instance too, `stop_after_s` seconds after it first saw the hold;
    `no_resume` says that the guest hold belongs to it.
    """

    id: str
    instance: str
    reason: str
    by: str
    at: datetime | None = None
    ensure_stopped: bool = False
    stop_after_s: float = 600.0
    no_resume: bool = False

    def record(self) -> dict[str, object]:
        """The hold as a JSON object."""
        return {
            "id": self.id,
            "instance": self.instance,
            "reason": self.reason,
            "by": self.by,
            "at": stamp(self.at) if self.at else None,
            "ensure_stopped": self.ensure_stopped,
            "stop_after_s": self.stop_after_s,
            "no_resume": self.no_resume,
        }


def hold_from(table: Table) -> Reading[Hold]:
    """The hold in a JSON object."""
    try:
        return Hold(
            id=table.text("id"),
            instance=table.text("instance"),
            reason=table.text("reason"),
            by=table.text("by"),
            at=table.maybe_moment("at"),
            ensure_stopped=table.flag("ensure_stopped", default=False),
            stop_after_s=table.number("stop_after_s", 600.0),
            no_resume=table.flag("no_resume", default=False),
        )
    except ShapeError as error:
        return Unreadable(str(error))


def unread_hold(hold_id: str, instance: str, why: str) -> Hold:
    """A hold whose body cannot be read is a hold all the same: its key says so."""
    return Hold(hold_id, instance, f"unreadable hold: {why}", by=UNREAD_BY)


def standing(holds: Iterable[Hold], released: Iterable[str]) -> tuple[Hold, ...]:
    """The holds that no release of the same id lifts, by id."""
    gone = frozenset(released)
    by_id = {hold.id: hold for hold in holds if hold.id not in gone}
    return tuple(by_id[key] for key in sorted(by_id))
