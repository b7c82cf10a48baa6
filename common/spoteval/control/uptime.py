"""How long the machine was up while a run was active, over all boots: a deadline's stand-in where no clock is right.

`uptime/<run>.json` is a count and may be a few minutes behind after a power cut: then the run ends later.
"""

from dataclasses import dataclass
from pathlib import Path

from spoteval.clock import Now
from spoteval.files import read_record, write_record
from spoteval.shape import ShapeError, Table

EVERY_S = 300.0


@dataclass(frozen=True, slots=True)
class Uptime:
    """Seconds in earlier sessions and in this one, which began to be counted at `since_s` of CLOCK_BOOTTIME."""

    session: str
    since_s: float
    before_s: float = 0.0
    here_s: float = 0.0

    @property
    def total_s(self) -> float:
        """All of it."""
        return self.before_s + self.here_s

    def record(self) -> dict[str, object]:
        """The count as a JSON object."""
        return {
            "session": self.session,
            "since_s": round(self.since_s, 3),
            "before_s": round(self.before_s, 3),
            "here_s": round(self.here_s, 3),
        }


def counted(before: Uptime | None, session: str, now: Now) -> Uptime:
    """The count now. Another session adds to the earlier ones; what passed between them is not counted."""
    if before is None:
        return Uptime(session, now.mono_s)
    if before.session != session:
        return Uptime(session, now.mono_s, before.total_s)
    here_s = max(before.here_s, now.mono_s - before.since_s)
    return Uptime(session, before.since_s, before.before_s, here_s)


def is_due(kept: Uptime | None, now: Uptime) -> bool:
    """Whether the count is to be written: a new session, or some minutes more."""
    if kept is None or kept.session != now.session:
        return True
    return now.here_s - kept.here_s >= EVERY_S


def read_uptime(path: Path) -> Uptime | None:
    """The count as it was kept; None where there is none yet, or it is no record any more: then it begins anew."""
    found = read_record(path)
    if not isinstance(found, Table):
        return None
    try:
        return Uptime(
            found.text("session"),
            found.number("since_s"),
            found.number("before_s"),
            found.number("here_s"),
        )
    except ShapeError:
        return None


def keep_uptime(path: Path, uptime: Uptime) -> None:
    """Write it down. Raises OSError."""
    write_record(path, uptime.record())
