"""end.json: how a run ended. Created once, by end-handler, never rewritten."""

from collections.abc import Mapping
from dataclasses import dataclass

from spoteval.clock import Mark
from spoteval.control.runfiles import progress
from spoteval.episode import classify, tally
from spoteval.files import read_record, write_new_record
from spoteval.paths import RunPaths
from spoteval.shape import Reading, ShapeError, Table, Unreadable

COMPLETE, DEADLINE, FINISHED = "complete", "deadline", "finished-early"


@dataclass(frozen=True, slots=True)
class End:
    """Why and when a run ended, and how its intended episodes are classed then.

    `classes` is None where the records could not be read; `pending` counts episodes that were finished and not yet
    published, None where nobody could tell.
    """

    run: str
    reason: str
    at: Mark
    finished: int
    intended: int | None
    classes: Mapping[str, int] | None
    pending: int | None

    def record(self) -> dict[str, object]:
        """The record as a JSON object."""
        return {
            "run": self.run,
            "reason": self.reason,
            "at": self.at.record(),
            "finished": self.finished,
            "intended": self.intended,
            "classes": None if self.classes is None else dict(self.classes),
            "pending": self.pending,
        }


def end_from(table: Table) -> Reading[End]:
    """The end in a JSON object."""
    try:
        intended, pending = table.maybe_number("intended"), table.maybe_number("pending")
        return End(
            run=table.text("run"),
            reason=table.text("reason"),
            at=table.mark("at"),
            finished=table.whole("finished"),
            intended=None if intended is None else int(intended),
            classes=_classes(table),
            pending=None if pending is None else int(pending),
        )
    except ShapeError as error:
        return Unreadable(str(error))


def read_end(paths: RunPaths) -> Reading[End | None]:
    """The end of a run; None while it has none, Unreadable where its record is damaged."""
    found = read_record(paths.end)
    end = end_from(found) if isinstance(found, Table) else found
    if isinstance(end, Unreadable):
        return Unreadable(f"{end.why} (the published copy is in the store: end.json of the run)")
    return end


def end_now(paths: RunPaths, run: str, reason: str, pending: int | None, at: Mark) -> End:
    """The end of the run as its records tell it now."""
    found = progress(paths)
    if isinstance(found, Unreadable):
        return End(run, reason, at, 0, None, None, pending)
    if found.intended is None:
        return End(run, reason, at, len(found.finished_keys), None, None, pending)
    classes = tally(classify(found.intended, (*found.finished, *found.cut)))
    intended = len(set(found.intended))
    return End(run, reason, at, len(found.finished_keys), intended, classes, pending)


def write_end(paths: RunPaths, end: End) -> None:
    """Write the end of the run; one that is there already stands. Raises OSError."""
    write_new_record(paths.end, end.record())


def _classes(table: Table) -> Mapping[str, int] | None:
    if table.values.get("classes") is None:
        return None
    below = table.table("classes")
    return {name: below.whole(name) for name in below.values}
