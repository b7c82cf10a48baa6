"""The run is stopped for a person or for a dead server: marked first, then by its own stop path, then closed."""

from collections.abc import Callable
from dataclasses import dataclass

from spoteval.clock import Now, read_now
from spoteval.control.eventlog import log_event
from spoteval.control.markers import is_settled
from spoteval.control.runcontrol import RUN_UNIT, Stopped, stop_run
from spoteval.control.runfiles import interruptions
from spoteval.event import Event
from spoteval.files import write_new_record
from spoteval.harness.contract import StopStep
from spoteval.interruption import OPERATOR, Closed, Opened, interruption_id
from spoteval.machine.cgroup import Members
from spoteval.paths import RunPaths
from spoteval.run import RunRecord
from spoteval.shape import Reading, Unreadable

OWN_S, KILL_S = 60.0, 10.0
"""Nobody takes the machine away: the harness gets a minute to end its way."""

Clock = Callable[[], Now]
Stop = Callable[[Members, tuple[StopStep, ...], float, float], Reading[Stopped]]


@dataclass(frozen=True, slots=True)
class Asked:
    """Who stops it and why, in which life of the machine; `source` and `cause` are the interruption's."""

    by: str
    reason: str
    session: str
    source: str = "operator"
    cause: str = OPERATOR


def stop_marked(
    record: RunRecord,
    paths: RunPaths,
    asked: Asked,
    members: Members,
    steps: tuple[StopStep, ...],
    clock: Clock = read_now,
    stop: Stop = stop_run,
) -> Reading[Stopped | None]:
    """Stop the run's processes; None where none ran. What they had in flight is settled by the cause.

    Repeating a stop that was cut short goes on under its marker. For a person, place the guest hold (or `draining`)
    before, or boot-resume starts the run again.
    """
    running = members.members(RUN_UNIT)
    if isinstance(running, Unreadable):
        return running
    if not running:
        return None
    opened = _opened(record, paths, asked, clock())
    done = stop(members, steps, OWN_S, KILL_S)
    if isinstance(done, Stopped):
        _closed(paths, opened, done, clock())
    _tell(record, paths, asked, done, clock())
    return done


def _opened(record: RunRecord, paths: RunPaths, asked: Asked, now: Now) -> Opened:
    for item in interruptions(paths).values():
        found = item.opened
        same = (found.session, found.source, found.cause) == (
            asked.session,
            asked.source,
            asked.cause,
        )
        if same and item.closed is None and not is_settled(paths, found.id):
            return found
    opened = Opened(
        interruption_id(now.wall, asked.session, asked.source),
        record.name,
        asked.session,
        now.mark,
        source=asked.source,
        cause=asked.cause,
    )
    write_new_record(paths.interruptions / opened.id / "opened.json", opened.record())
    return opened


def _closed(paths: RunPaths, opened: Opened, done: Stopped, now: Now) -> None:
    total_s = now.mono_s - opened.at.mono_s
    closed = Closed(opened.id, now.mark, opened.cause, killed=done.killed, total_s=total_s)
    write_new_record(paths.interruptions / opened.id / "closed.json", closed.record())


def _tell(
    record: RunRecord, paths: RunPaths, asked: Asked, done: Reading[Stopped], now: Now
) -> None:
    detail: dict[str, object] = {"run": record.name, "by": asked.by}
    if isinstance(done, Stopped):
        detail |= {"told": list(done.told), "killed": done.killed, "empty": done.empty}
    else:
        detail |= {"failed": done.why}
    event = Event(
        at=now.wall,
        kind="run-stopped",
        source=asked.source,
        instance=record.instance,
        session=asked.session,
        reason=asked.reason,
        detail=detail,
    )
    log_event(paths.events, event)
