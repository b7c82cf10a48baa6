"""One instance's memory on disk: the state, and the events that go with each change of it."""

import json
from dataclasses import replace

from spoteval.clock import Now
from spoteval.control.eventlog import log_events, tell
from spoteval.event import Event, event_from
from spoteval.files import read_last, read_lines, read_record, write_record
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

    What is saved is durable, with two exceptions, so that the first looks at many instances take no minute of syncs:

    - As long as the book has only ever seen (`only_seen`), it is not synced: nothing was begun, held or counted, and
      what a power cut takes is seen again by the next first look. From the first change that is more, all is synced.
      What replaces a synced file is always synced, else a power cut could take the synced one as well.
    - In how many looks the owner was seen is written with the next other change: who has forgotten it starts nothing
      for two looks more.
    """

    def __init__(self, paths: InstancePaths, now: Now) -> None:
        self._paths = paths
        self._bare = False
        self._in_doubt = False
        self._of_another_boot = False
        self.state, self._unlogged = self._open(now)
        self._log()

    def save(self, state: State, events: News, now: Now) -> None:
        """Make a change durable, then log its events. Nothing is written where nothing changed.

        What another boot had saved is written once as this one understands it: a wait that begins anew because
        nobody knows how long the machine was off would do so at each start of the process.
        """
        self._log()
        is_same = state == self.state or lasting(state) == lasting(self.state)
        if is_same and not (events or self._of_another_boot):
            self.state = state
            return
        record = state_record(state, now) | {"events": [event.record() for event in events]}
        self._bare = self._bare and only_seen(state)
        write_record(self._paths.state, record, durable=not self._bare)
        self.state, self._unlogged = state, events
        self._of_another_boot = False
        self._log()

    def _log(self) -> None:
        """What a disk that filled up took of several lines is not appended again."""
        if self._in_doubt:
            self._unlogged = self._lacking(self._unlogged)
        if self._unlogged:
            self._in_doubt = True
            log_events(self._paths.events, self._unlogged, durable=not self._bare)
        self._unlogged, self._in_doubt = (), False

    def _open(self, now: Now) -> tuple[State, News]:
        found = read_record(self._paths.state)
        if found is None and not self._paths.events.exists():
            self._bare = True
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
        self._of_another_boot = table.mark("saved").boot != now.boot
        return state, self._missing(table)

    def _missing(self, table: Table) -> News:
        """Events of the last change that the log lacks: the process died between the two writes."""
        try:
            carried = [dict(item.values) for item in table.tables("events")]
        except ShapeError:
            return ()
        logged = self._newest() if carried else ()
        events = (event_from(record) for record in carried if record not in logged)
        return tuple(event for event in events if isinstance(event, Event))

    def _lacking(self, events: News) -> News:
        logged = self._newest()
        return tuple(event for event in events if _as_logged(event) not in logged)

    def _newest(self) -> tuple[dict[str, object], ...]:
        return read_last(self._paths.events, _LOOK_BACK)


def _as_logged(event: Event) -> object:
    return json.loads(json.dumps(event.record()))


def only_seen(state: State) -> bool:
    """Whether it only says what was seen: nothing is begun, held, counted, or told."""
    own = (state.ask, state.stop_asks, state.stop, state.refusal, state.file_hold)
    numbers = (state.starts, state.spent, state.failures)
    return not (any(own) or any(numbers) or state.holds or state.told or state.waived)


def lasting(state: State) -> State:
    """The state without what need not be written for itself."""
    owner = state.owner
    return state if owner is None else replace(state, owner=replace(owner, polls=0))
