"""A drill's announcement on the restarter host: a stop that comes while it stands is a rehearsed preemption."""

from dataclasses import dataclass

from spoteval.clock import Mark, Now, elapsed_s
from spoteval.files import read_record, remove, write_record
from spoteval.paths import InstancePaths
from spoteval.shape import Reading, ShapeError, Unreadable

FOR_S = 7200.0
"""So long an announcement is believed: a drill that was given up must not make a person's stop look like its own."""


@dataclass(frozen=True, slots=True)
class Announced:
    """Who drills which run, and since when."""

    run: str
    by: str
    at: Mark

    def record(self) -> dict[str, object]:
        """The announcement as a JSON object."""
        return {"run": self.run, "by": self.by, "at": self.at.record()}


def announce(paths: InstancePaths, announced: Announced) -> None:
    """Durable when it returns. Raises OSError."""
    write_record(paths.drill, announced.record())


def withdraw(paths: InstancePaths) -> bool:
    """The drill is over; False where nothing was announced. Raises OSError."""
    return remove(paths.drill)


def announced(paths: InstancePaths, now: Now) -> Reading[Announced | None]:
    """The announcement that stands; None where there is none, or it is older than is believed."""
    table = read_record(paths.drill)
    if table is None or isinstance(table, Unreadable):
        return table
    try:
        found = Announced(table.text("run"), table.text("by"), table.mark("at"))
    except ShapeError as error:
        return Unreadable(str(error))
    age_s = elapsed_s(found.at, now)
    return found if age_s is not None and age_s < FOR_S else None
