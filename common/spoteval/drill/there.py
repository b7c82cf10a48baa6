"""A drill on the restarter host: announced in a file, stopped by the provider, judged by what the store holds."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from spoteval.clock import Now
from spoteval.control.byhand import (
    CALL_S,
    MANUAL_STOP,
    OBSERVE_S,
    answered,
    record_call,
    refuse_held,
)
from spoteval.control.drills import Announced, announce, withdraw
from spoteval.control.holds import look
from spoteval.control.refused import Failed, Refused
from spoteval.drill.expect import Expectation, expectations
from spoteval.drill.plan import SLOTS, STOPS, is_drill
from spoteval.drill.records import store_evidence
from spoteval.event import REHEARSAL, Event, events_from
from spoteval.files import read_lines, read_record
from spoteval.paths import HostPaths, InstancePaths
from spoteval.provider.contract import Observation, Provider, State
from spoteval.report.agents import is_running
from spoteval.report.run_facts import from_store
from spoteval.shape import Table, Unreadable
from spoteval.store.contract import Store

REASON = "drill of a forced stop"


@dataclass(frozen=True, slots=True)
class There:
    """One instance as this host sees and drives it."""

    paths: InstancePaths
    store: Store
    provider: Provider

    @property
    def instance(self) -> str:
        """Its name."""
        return self.paths.instance

    def refuse(self, host: HostPaths) -> None:
        """Raise Refused where the instance would not be started again, or a run that is not a drill's goes on."""
        if not is_running(host.state / "restarter.lock"):
            raise Refused("the restarter does not run (systemctl enable --now spoteval-restarter)")
        refuse_held(self.store, self.paths, self.instance)
        run = assigned(self.store, self.instance)
        if run is not None and not is_drill(run):
            raise Refused(
                f'run "{run}" is active and not over: a drill would stop it'
                f" (on the guest: spoteval run finish {run}, or drill when it is over)"
            )

    def refuse_off(self) -> None:
        """Raise Refused where it is not RUNNING: there is nothing to stop."""
        seen = self.provider.observe(OBSERVE_S)
        if isinstance(seen, Observation) and seen.state is State.RUNNING:
            return
        word = seen.state.value if isinstance(seen, Observation) else seen.why
        raise Refused(
            f"{self.instance} is not RUNNING ({word}): nothing was stopped"
            f" (spoteval start {self.instance})"
        )

    def live(self, run: str) -> tuple[int, int]:
        """Episodes finished and in flight, as the guest told the store last. Raises StoreError."""
        known = from_store(self.store, run)
        finished = (
            0 if isinstance(known.progress, Unreadable) else len(known.progress.finished_keys)
        )
        return finished, known.in_flight or 0

    def announce(self, run: str, by: str, now: Now) -> None:
        """Before any stop is asked for. Raises OSError."""
        announce(self.paths, Announced(run, by, now.mark))

    def is_heard(self, run: str) -> bool:
        """Whether the restarter remembers the announcement."""
        state = read_record(self.paths.state)
        found = state.values.get("drill") if isinstance(state, Table) else None
        return isinstance(found, dict) and found.get("run") == run

    def stop(self, run: str, number: int, now: Now) -> str:
        """One stop request, on record before it goes out; what it was answered. Raises Failed."""
        detail = {REHEARSAL: True, "run": run, "stop": number, "boot_seq": self.boot_seq()}
        record_call(self.paths, MANUAL_STOP, now, REASON, detail=detail)
        reply = self.provider.stop(CALL_S)
        if not reply.ok:
            raise Failed(
                f"stop {number} was not accepted: {answered(reply)}; the drill stands announced"
                f" (again: spoteval drill forced-stop {self.instance})"
            )
        return answered(reply)

    def withdraw(self) -> bool:
        """The drill is over; False where none was announced. Raises OSError."""
        return withdraw(self.paths)

    def stopped_before(self, run: str) -> bool:
        """Whether a stop of this drill was asked for already. Raises OSError."""
        return bool(stops_of(self.events(), run))

    def held(self) -> tuple[str, ...]:
        """What holds it now, the touch file included. Raises StoreError."""
        file = (str(self.paths.hold),) if self.paths.hold.exists() else ()
        return (*file, *look(self.store, self.instance).standing)

    def events(self) -> tuple[Event, ...]:
        """The restarter's own. Raises OSError."""
        return events_from(read_lines(self.paths.events).records)

    def judged(self, run: str, *, given_up: bool = False) -> tuple[Expectation, ...]:
        """By the store and the restarter's events. Raises StoreError, OSError."""
        events = self.events()
        return expectations(
            store_evidence(self.store, run), stops_of(events, run), events, given_up=given_up
        )

    def next_stop(self, run: str) -> int | None:
        """The number of the stop that is due now, None where none is.

        The second one is due once a later boot than that of the first has put a fact: boot-resume is at work then.
        """
        stops = [event for event in self.events() if is_stop_of(event, run)]
        if not stops:
            return 1
        before = stops[0].detail.get("boot_seq")
        came_back = isinstance(before, int) and self.boot_seq() > before
        return STOPS if len(stops) < STOPS and came_back else None

    def boot_seq(self) -> int:
        """The newest boot that put any fact; 0 before the first. Raises StoreError."""
        newest = look(self.store, self.instance).newest_boot
        return newest[0] if newest is not None else 0


def assigned(store: Store, instance: str) -> str | None:
    """The run that the guest assigned last, unless it is over. Raises StoreError."""
    found = look(store, instance)
    run = found.assigned
    return run[0] if run is not None and not found.ended(run[0]) else None


def newest_drill(store: Store, instance: str) -> str | None:
    """The last drill that the guest made, over or not. Raises StoreError."""
    facts = look(store, instance).facts
    names = (fact.name.removeprefix("run-").rpartition("-")[0] for fact in facts)
    return max((name for name in names if is_drill(name)), default=None)


def stops_of(events: Iterable[Event], run: str) -> tuple[datetime, ...]:
    """When the stops of this drill were asked for from here."""
    return tuple(event.at for event in events if is_stop_of(event, run))


def is_stop_of(event: Event, run: str) -> bool:
    """Whether it says that a stop of this drill was asked for."""
    is_own = event.kind == MANUAL_STOP and event.rehearsal
    return is_own and event.detail.get("run") == run


def is_live(finished: int, in_flight: int) -> bool:
    """Something is finished that must be kept, and all slots hold what the stop will cut."""
    return finished > 0 and in_flight >= SLOTS
