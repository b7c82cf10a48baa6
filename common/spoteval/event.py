"""Events: every start, stop, notice, hold and stage of the restart path, with source, reason and price."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from spoteval.clock import stamp
from spoteval.shape import Reading, ShapeError, Table, Unreadable

NEEDS_YOU = "needs_you"
REHEARSAL = "rehearsal"
"""The key in `detail` of what a drill brought about: no figure about the provider's weather counts it."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of events.jsonl. `detail` holds what belongs to the kind alone."""

    at: datetime
    kind: str
    source: str
    instance: str
    session: str | None = None
    reason: str | None = None
    evidence: str | None = None
    price: Mapping[str, object] | None = None
    detail: Mapping[str, object] = field(default_factory=dict)

    @property
    def rehearsal(self) -> bool:
        """Whether a drill brought it about."""
        return self.detail.get(REHEARSAL) is True

    def record(self) -> dict[str, object]:
        """The event as a JSON object; absent values are left out."""
        own = {
            "at": stamp(self.at),
            "kind": self.kind,
            "source": self.source,
            "instance": self.instance,
        }
        rest = {
            "session": self.session,
            "reason": self.reason,
            "evidence": self.evidence,
            "price": dict(self.price) if self.price is not None else None,
            "detail": dict(self.detail) or None,
        }
        return {**own, **{key: value for key, value in rest.items() if value is not None}}


def event_from(record: Mapping[str, object]) -> Reading[Event]:
    """The event in a line that `Event.record` made."""
    table = Table(record, "event")
    try:
        return Event(
            at=table.moment("at"),
            kind=table.text("kind"),
            source=table.text("source"),
            instance=table.text("instance"),
            session=table.maybe_text("session"),
            reason=table.maybe_text("reason"),
            evidence=table.maybe_text("evidence"),
            price=table.table("price").values if table.has("price") else None,
            detail=table.table("detail", {}).values,
        )
    except ShapeError as error:
        return Unreadable(str(error))


def events_from(records: tuple[dict[str, object], ...]) -> tuple[Event, ...]:
    """All readable events, oldest first."""
    events = (event_from(record) for record in records)
    return tuple(sorted((event for event in events if isinstance(event, Event)), key=_moment))


def _moment(event: Event) -> datetime:
    return event.at
