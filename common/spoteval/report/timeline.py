"""The strip: what the node did, one cell a stretch of time, from events alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from spoteval.event import Event

WORK, RESTART, OFF = "█", "▒", "·"
PREEMPTED, NO_CAPACITY, ENDED = "×", "!", "■"
LEGEND = "█ work  ▒ restart  · off  × preempted  ! no capacity  ■ ended, held"
RESUMING_NOTE = "^ while resuming"
_ENDS = ("end", "end-stop")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one state, or a mark (then it has no length)."""

    cell: str
    began: datetime
    ended: datetime
    resuming: bool = False  # a preemption that cut a restart

    @property
    def is_mark(self) -> bool:
        """Whether it stands for a moment."""
        return self.cell in (PREEMPTED, NO_CAPACITY, ENDED)

    @property
    def length_s(self) -> float:
        """Seconds of the stretch."""
        return (self.ended - self.began).total_seconds()


@dataclass(frozen=True, slots=True)
class Strip:
    """The cells, and the places of preemptions that came while a restart was resuming."""

    cells: str
    resuming: tuple[int, ...] = ()

    def notes(self) -> str | None:
        """The line below the strip that points at them; None where there is none."""
        if not self.resuming:
            return None
        marks = ["^" if place in self.resuming else " " for place in range(max(self.resuming) + 1)]
        return "".join(marks) + RESUMING_NOTE.removeprefix("^")


@dataclass(slots=True)
class _Reader:
    """Walks the events and cuts them into pieces."""

    pieces: list[Piece] = field(default_factory=list)
    cell: str | None = None  # of the stretch that is open
    since: datetime | None = None
    session: str | None = None
    resuming: bool = False
    ending: bool = False

    def take(self, event: Event) -> None:
        """One event, in order of time."""
        match event.kind:
            case "start-asked" | "manual-start" if self.cell is None:
                self._turn(OFF, event.at)
            case "running" | "booted":
                self._up(event)
            case "resume-began":
                self.resuming = True
            case "first-episode":
                self._turn(WORK, event.at)
            case "capacity-failure":
                self._mark(NO_CAPACITY, event.at)
            case "stopped":
                self._stopped(event)
            case kind if kind in _ENDS:
                self.ending = True

    def close(self, until: datetime) -> tuple[Piece, ...]:
        """The pieces, the last one ending now; after the end there is nothing to show."""
        if self.pieces and self.pieces[-1].cell == ENDED:
            return tuple(self.pieces)
        self._turn(None, until)
        return tuple(self.pieces)

    def _up(self, event: Event) -> None:
        """A new session while we are up: the stop between was seen by nobody."""
        other = None not in (self.session, event.session) and event.session != self.session
        self.session = event.session or self.session
        if self.cell in (None, OFF) or other:
            self._turn(RESTART, event.at)
            self.resuming = self.ending = False

    def _stopped(self, event: Event) -> None:
        cause = event.detail.get("cause", event.reason)
        cut_restart = self.cell == RESTART and self.resuming
        if self.cell == OFF:
            return
        self._turn(OFF, event.at)
        self.session = None
        if cause == "preempted":
            self._mark(PREEMPTED, event.at, cut_restart)
        elif self.ending:
            self._mark(ENDED, event.at)

    def _mark(self, cell: str, at: datetime, resuming: bool = False) -> None:
        before = self.cell
        self._turn(before, at)
        self.pieces.append(Piece(cell, at, at, resuming))

    def _turn(self, cell: str | None, at: datetime) -> None:
        if self.cell is not None and self.since is not None and at > self.since:
            self.pieces.append(Piece(self.cell, self.since, at))
        self.cell, self.since = cell, at


def pieces(events: Iterable[Event], until: datetime) -> tuple[Piece, ...]:
    """What happened, in order: stretches of work, restart and off, and marks between them."""
    reader = _Reader()
    for event in sorted(events, key=lambda item: item.at):
        reader.take(event)
    return reader.close(until)


def strip(found: Sequence[Piece], cells: int = 40) -> Strip:
    """About so many cells; every stretch has at least one, so that nothing that happened is invisible."""
    total_s = sum(piece.length_s for piece in found)
    cell_s = total_s / max(1, cells) or 1.0
    text, resuming = "", []
    for piece in found:
        if piece.resuming:
            resuming.append(len(text))
        text += piece.cell * (1 if piece.is_mark else max(1, round(piece.length_s / cell_s)))
    return Strip(text, tuple(resuming))


def scaled(found: Sequence[Piece], since: datetime, until: datetime, width: int) -> str:
    """The strip against a clock: each cell shows its middle, a mark wherever one falls into it."""
    cell = (until - since) / width
    line = [_at(found, since + cell * (index + 0.5)) for index in range(width)]
    for piece in found:
        place = int((piece.began - since) / cell) if cell else 0
        if piece.is_mark and 0 <= place < width:
            line[place] = piece.cell
    return "".join(line).rstrip()


def axis(since: datetime, until: datetime, width: int) -> str:
    """Hours (or minutes, for a short stretch) below a scaled strip."""
    steps_s = (60, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400)
    per_cell_s = (until - since).total_seconds() / width
    step_s = next((step for step in steps_s if step >= 6 * per_cell_s), steps_s[-1])
    line = [" "] * width
    first = since.replace(hour=0, minute=0, second=0, microsecond=0)
    for number in range(int((until - first).total_seconds() // step_s) + 1):
        at = first + timedelta(seconds=number * step_s)
        place = int((at - since).total_seconds() / per_cell_s) if at >= since else -1
        label = f"{at:%H}" if step_s >= 3600 else f"{at:%H:%M}"
        if 0 <= place <= width - len(label):
            line[place : place + len(label)] = label
    return "".join(line).rstrip()


def _at(found: Sequence[Piece], moment: datetime) -> str:
    here = (piece.cell for piece in found if piece.began <= moment < piece.ended)
    return next(here, " ")
