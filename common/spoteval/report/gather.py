"""Everything that this host can see of an instance and its run, put together. No provider is asked."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from spoteval.clock import Now
from spoteval.config.grant import Grant, tightened
from spoteval.control.boot import recorded_boot
from spoteval.control.holds import look
from spoteval.control.runfiles import active_run
from spoteval.event import Event
from spoteval.paths import DurablePaths, HostPaths, InstancePaths
from spoteval.placement.spend import spend
from spoteval.placement.stages import restarts
from spoteval.report.agents import AGENTS, is_running
from spoteval.report.gather_run import with_run
from spoteval.report.holds import HoldsSeen
from spoteval.report.holds_seen import (
    file_age_s,
    guest_files,
    mirror_files,
    restarter_file,
    store_holds,
)
from spoteval.report.host_facts import (
    RestarterFacts,
    decision_files,
    decisions,
    restarter_facts,
    waiting_of,
)
from spoteval.report.rules import Rules
from spoteval.report.run_facts import RunFacts, boot_events, from_disk, from_store, with_store
from spoteval.report.status import STALE_GUEST_S, STALE_RESTARTER_S, Source, Status
from spoteval.report.timeline import pieces
from spoteval.report.words import duration
from spoteval.run import RunRecord
from spoteval.shape import Unreadable
from spoteval.store.contract import Store, StoreError

_WORKING_STAGE = "first-episode"
_STOPPING = ("notice", "interrupted", "idle-intent", "idle-stop", "end", "end-stop")
"""Stages of the guest's heartbeat on its way down; all others lead to work."""


@dataclass(frozen=True, slots=True)
class Sight:
    """From where one looks. `disk` on the guest alone; `serves` on the restarter host of the instance.

    `store` is None on a restarter host that has none.
    """

    paths: HostPaths
    store: Store | None
    instance: str
    disk: DurablePaths | None = None
    serves: bool = False
    run: str | None = None
    grant: Grant | None = None
    """The outer limits, on the restarter host."""

    @property
    def own(self) -> InstancePaths:
        """The restarter's files about the instance."""
        return InstancePaths(self.paths.state, self.instance)


def status(sight: Sight, now: Now) -> Status:
    """The status; raises OSError where own files cannot be read. A store that is away leaves gaps."""
    run = run_facts(sight)
    own = restarter_facts(sight.own, now) if sight.serves else RestarterFacts()
    events = _events(sight, own, run)
    told = events if sight.serves else tuple(map(_as_stop, events))
    state, state_s = _state(sight, own, events, now)
    guest = _guest(sight, run, now)
    since = own.assigned(run.name) if run is not None else None
    of_run = tuple(event for event in told if since is None or event.at >= since)
    known = Status(
        at=now.wall,
        instance=sight.instance,
        guest=guest,
        restarter=Source(own.age_s, here=own.age_s == 0.0, stale_s=STALE_RESTARTER_S),
        holds=holds(sight, now),
        state=state,
        state_s=state_s,
        pieces=pieces(told, now.wall),
        restarts=restarts(of_run),
        spend=spend(own.events, now.wall, since),
        rules=_rules(sight, own, run),
        preemptions=_count(of_run, "stopped", "preempted"),
        capacity_failures=_count(of_run, "capacity-failure") if sight.serves else None,
        passed_s=_passed_s(sight, run, now),
        waiting=_waiting(sight, own, run) or _silence(guest, own, run),
    )
    return with_run(known, run, events, serves=sight.serves)


def holds(sight: Sight, now: Now) -> HoldsSeen:
    """The holds that can be seen from here."""
    own = restarter_file(sight.own, now, sight.serves)
    files = (own, *guest_files(sight.disk, now))
    mirrors = mirror_files(sight.own, sight.serves)
    stored = store_holds(sight.store, sight.instance)
    return HoldsSeen(sight.instance, files, stored, mirrors, local=sight.store is None)


def events(sight: Sight, now: Now) -> tuple[Event, ...]:
    """The events of this host and, where the store can be read, those that the guest published of the run."""
    own = restarter_facts(sight.own, now) if sight.serves else RestarterFacts()
    return _events(sight, own, run_facts(sight))


def run_facts(sight: Sight) -> RunFacts | None:
    """The run: the named one, else the active or assigned one; None where there is none or nothing is known."""
    if sight.disk is None:
        return _stored(sight, sight.run or _assigned(sight))
    active = active_run(sight.disk)
    run = sight.run or (active if isinstance(active, str) else None)
    if run is None:
        return None
    own, stored = from_disk(sight.disk, run), _stored(sight, run)
    return own if stored is None else with_store(own, stored)


def _stored(sight: Sight, run: str | None) -> RunFacts | None:
    """A guest's key may not list: then the store tells nothing here."""
    if sight.store is None or run is None:
        return None
    try:
        return from_store(sight.store, run)
    except StoreError:
        return None


def _assigned(sight: Sight) -> str | None:
    if sight.store is None:
        return None
    try:
        assigned = look(sight.store, sight.instance).assigned
    except StoreError:
        return None
    return assigned[0] if assigned is not None else None


def _events(sight: Sight, own: RestarterFacts, run: RunFacts | None) -> tuple[Event, ...]:
    boots = boot_events(sight.disk) if sight.disk is not None else ()
    of_run = run.events if run is not None else ()
    return tuple(sorted((*own.events, *boots, *of_run), key=lambda event: event.at))


def _as_stop(event: Event) -> Event:
    """Where the restarter's events are not seen, the guest's own marker says when it was taken away."""
    return replace(event, kind="stopped") if event.kind == "interrupted" else event


def _state(
    sight: Sight, own: RestarterFacts, events: Iterable[Event], now: Now
) -> tuple[str | None, float | None]:
    """The restarter's word; on the guest itself we run, since this boot was recorded, if any agent does."""
    if sight.disk is None:
        return own.state, own.state_s
    if not any(is_running(sight.paths.run / f"{agent}.lock") for agent in AGENTS):
        return None, None
    boot = recorded_boot(sight.disk)
    session = None if isinstance(boot, Unreadable) else boot.session
    booted = [event.at for event in events if event.kind == "booted" and event.session == session]
    return "RUNNING", (now.wall - booted[-1]).total_seconds() if booted else None


def _guest(sight: Sight, run: RunFacts | None, now: Now) -> Source:
    if sight.disk is not None:
        return Source(0.0, here=True)
    if run is None or run.sign is None:
        return Source()
    age_s = max(0.0, (now.wall - run.sign).total_seconds())
    return Source(age_s, here=False, stale_s=STALE_GUEST_S)


def _rules(sight: Sight, own: RestarterFacts, run: RunFacts | None) -> Rules | None:
    """The limits in force: the grant, tightened by the run's own."""
    if sight.grant is None:
        return None
    record = run.record if run is not None and isinstance(run.record, RunRecord) else None
    if run is None or record is None:
        return Rules(sight.grant, own.counted, run.name if run is not None else None)
    limits = tightened(sight.grant, record.plan.stop_rules)
    return Rules(limits, own.counted, run.name, record.generation)


def _passed_s(sight: Sight, run: RunFacts | None, now: Now) -> float | None:
    """The follower puts a sign of life after a pass; on the guest the note of it lies on the disk."""
    if sight.disk is not None:
        return file_age_s(sight.disk.publication / "heartbeat.json", now)
    if run is None or run.sign is None:
        return None
    return max(0.0, (now.wall - run.sign).total_seconds())


def _silence(guest: Source, own: RestarterFacts, run: RunFacts | None) -> str | None:
    """A machine that is on, for a run that is not over, and whose guest has long said nothing."""
    if not guest.stale or own.state != "RUNNING" or run is None or run.over:
        return None
    return f"no word from the guest for {duration(guest.age_s or 0.0)}"


def _waiting(sight: Sight, own: RestarterFacts, run: RunFacts | None) -> str | None:
    if sight.disk is not None:
        said = [
            item for item in decisions(decision_files(sight.disk)) if item.agent == "boot-resume"
        ]
        return waiting_of(said[-1]) if said else None
    if (waiting := waiting_of(own.last)) is not None:
        return waiting
    stage = run.stage if run is not None else None
    if own.state != "RUNNING" or stage in (None, _WORKING_STAGE):
        return None
    return f"the guest stops: {stage}" if stage in _STOPPING else f"the guest resumes: {stage}"


def _count(events: Iterable[Event], kind: str, cause: str | None = None) -> int:
    real = (event for event in events if not event.rehearsal)
    return sum(event.kind == kind and cause in (None, event.reason) for event in real)
