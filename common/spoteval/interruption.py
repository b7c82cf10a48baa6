"""Interruptions: the marker that is opened before anything else is done, and how it was closed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from spoteval.clock import Mark
from spoteval.shape import Reading, ShapeError, Table, Unreadable

UNDECIDED = "undecided"
NOT_AN_INTERRUPTION = "not-an-interruption"
PREEMPTED = "preempted"
OPERATOR = "operator"
END = "end"
IDLE = "idle"
UNKNOWN = "unknown"
SERVER = "model-server"
"""A model server died under the run, and the run was stopped by its own path."""


@dataclass(frozen=True, slots=True)
class Opened:
    """opened.json: written first, before it is even known what the stop is. `notice` is the id of the provider's."""

    id: str
    run: str
    session: str
    at: Mark
    source: str
    cause: str = UNDECIDED
    window_s: float | None = None
    notice: str | None = None

    def record(self) -> dict[str, object]:
        """The marker as a JSON object."""
        return {
            "id": self.id,
            "run": self.run,
            "session": self.session,
            "at": self.at.record(),
            "source": self.source,
            "cause": self.cause,
            "window_s": self.window_s,
            "notice": self.notice,
        }


@dataclass(frozen=True, slots=True)
class Closed:
    """closed.json: what the stop was and what was done within the window."""

    id: str
    at: Mark
    cause: str
    killed: int = 0
    salvaged: int = 0
    left: int | None = None
    total_s: float = 0.0

    def record(self) -> dict[str, object]:
        """The closing record as a JSON object."""
        return {
            "id": self.id,
            "at": self.at.record(),
            "cause": self.cause,
            "killed": self.killed,
            "salvaged": self.salvaged,
            "left": self.left,
            "total_s": round(self.total_s, 3),
        }


def interruption_id(at: datetime, session: str, source: str) -> str:
    """A name that sorts by time: 2026-12-01T02-58-11-204-<session start>-<source>.

    Two who open one in the same moment, such as the hook and who stops a run whose server died, never share it.
    """
    return f"{at:%Y-%m-%dT%H-%M-%S}-{at.microsecond // 1000:03d}-{session[:8]}-{source}"


def opened_from(table: Table) -> Reading[Opened]:
    """The opening record in a JSON object."""
    try:
        return Opened(
            id=table.text("id"),
            run=table.text("run"),
            session=table.text("session"),
            at=table.mark("at"),
            source=table.text("source"),
            cause=table.text("cause"),
            window_s=table.maybe_number("window_s"),
            notice=table.maybe_text("notice"),
        )
    except ShapeError as error:
        return Unreadable(str(error))


def closed_from(table: Table) -> Reading[Closed]:
    """The closing record in a JSON object."""
    try:
        left = table.maybe_number("left")
        return Closed(
            id=table.text("id"),
            at=table.mark("at"),
            cause=table.text("cause"),
            killed=table.whole("killed"),
            salvaged=table.whole("salvaged"),
            left=int(left) if left is not None else None,
            total_s=table.number("total_s"),
        )
    except ShapeError as error:
        return Unreadable(str(error))


@dataclass(frozen=True, slots=True)
class Interruption:
    """A marker with its end, if it has one. Without closed.json the stop was cut short."""

    opened: Opened
    closed: Closed | None = None
    closed_unreadable: bool = False

    @property
    def cause(self) -> str:
        """The cause by the closing record; a marker that was never closed was cut by the machine's end."""
        if self.closed is not None:
            return self.closed.cause
        return PREEMPTED if self.opened.cause in (UNDECIDED, PREEMPTED) else self.opened.cause

    @property
    def counts(self) -> bool:
        """Whether episodes were cut: a restart of our own unit cuts none."""
        return self.cause != NOT_AN_INTERRUPTION


def newest(interruptions: Mapping[str, Interruption]) -> Interruption | None:
    """The last one by id."""
    return interruptions[max(interruptions)] if interruptions else None
