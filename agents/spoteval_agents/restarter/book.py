"""One instance's memory on disk: the state, and the events that go with each change of it."""

from spoteval.clock import Now
from spoteval.control.eventlog import log_event, tell
from spoteval.event import Event, event_from
from spoteval.files import read_lines, read_record, write_record
from spoteval.paths import InstancePaths
from spoteval.shape import ShapeError, Table, Unreadable
from spoteval_agents.restarter.recover import recovered
from spoteval_agents.restarter.state import State
from spoteval_agents.restarter.state_file import state_from, state_record
from spoteval_agents.restarter.telling import News

_LOOK_BACK = (
    64  # lines; a change brings a handful of events, and a person's command may log in between
)


class Book:
    """Saves a state together with the events of its change: a crash in between loses none and doubles none.

    The state file carries the events of its last change. Who opens the book appends those that the log lacks.
    Methods raise OSError; then the state in memory is still the one on disk.
    """

    def __init__(self, paths: InstancePaths, now: Now) -> None:
        self._paths = paths
        self.state, self._unlogged = self._open(now)
        self._log()

    def save(self, state: State, events: News, now: Now) -> None:
        """Make a change durable, then log its events. Nothing is written where nothing changed."""
        self._log()
        if state == self.state and not events:
            return
        record = state_record(state, now) | {"events": [event.record() for event in events]}
        write_record(self._paths.state, record)
        self.state, self._unlogged = state, events
        self._log()

    def _log(self) -> None:
        while self._unlogged:
            log_event(self._paths.events, self._unlogged[0])
            self._unlogged = self._unlogged[1:]

    def _open(self, now: Now) -> tuple[State, News]:
        found = read_record(self._paths.state)
        if found is None and not self._paths.events.exists():
            return State(), ()
        table = Unreadable(f"{self._paths.state}: absent") if found is None else found
        state = table if isinstance(table, Unreadable) else state_from(table, now)
        if isinstance(state, Unreadable) or isinstance(table, Unreadable):
            why = state.why if isinstance(state, Unreadable) else ""
            tell(
                f"{why}: rebuilt from events; one start window passes before any start",
                warning=True,
            )
            return recovered(read_lines(self._paths.events).records, now), ()
        return state, self._missing(table)

    def _missing(self, table: Table) -> News:
        """Events of the last change that the log lacks: the process died between the two writes."""
        try:
            carried = [dict(item.values) for item in table.tables("events")]
        except ShapeError:
            return ()
        logged = read_lines(self._paths.events).records[-_LOOK_BACK:] if carried else ()
        events = (event_from(record) for record in carried if record not in logged)
        return tuple(event for event in events if isinstance(event, Event))
