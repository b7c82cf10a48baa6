"""A drill on the guest: what it is refused for, how its run begins, what is known of it."""

from dataclasses import dataclass

from spoteval.clock import Now
from spoteval.config.guest import GuestConfig
from spoteval.control.boot import this_boot
from spoteval.control.refused import Failed, Refused
from spoteval.control.runfiles import active_run, progress, read_run
from spoteval.control.runlife import new_run, start_run
from spoteval.drill.plan import SLOTS, drill_name, drill_plan, is_drill
from spoteval.files import read_text
from spoteval.harness.registry import adapter
from spoteval.paths import DurablePaths, HostPaths
from spoteval.report.agents import is_running
from spoteval.shape import Reading, Unreadable
from spoteval.store.contract import Store

NEEDED = ("shutdown-hook", "publication-follower", "boot-resume")
"""Without one of these nothing would be learned, and a run would be stopped for it."""


@dataclass(frozen=True, slots=True)
class Live:
    """How the drill's run goes: episodes finished, and in flight."""

    finished: int
    in_flight: int

    @property
    def enough(self) -> bool:
        """Something is finished that must be kept, and all slots hold what the stop will cut."""
        return self.finished > 0 and self.in_flight >= SLOTS


def under_way(disk: DurablePaths) -> str | None:
    """The drill whose run is active and not over; None where there is none. Raises Refused."""
    run = active_run(disk)
    if isinstance(run, Unreadable):
        raise Refused(f"which run is active cannot be read: {run.why} (rm {disk.active})")
    return run if run is not None and is_drill(run) and not disk.run(run).end.exists() else None


def untold(disk: DurablePaths) -> str | None:
    """The drill that is over and still the active run, and that nobody watched to its end; None where there is none."""
    run, last = active_run(disk), last_drill(disk)
    if last is None or run != last or disk.run(last).drilled.exists():
        return None
    return last if disk.run(last).end.exists() else None


def last_drill(disk: DurablePaths) -> str | None:
    """The newest drill of this disk."""
    names = (path.name for path in disk.runs.glob("*") if is_drill(path.name))
    return max(names, default=None)


def refuse_here(disk: DurablePaths, paths: HostPaths) -> None:
    """Raise Refused under a guest hold, in an interruption, and where an agent that is drilled does not run.

    An active run that is not over is refused where the drill's own is started.
    """
    hold = read_text(disk.guest_hold)
    if hold is not None:
        reason = hold.why if isinstance(hold, Unreadable) else hold
        raise Refused(f'held: "{reason}" (rm {disk.guest_hold})')
    if paths.draining.exists():
        raise Refused(f"an interruption is under way ({paths.draining})")
    for agent in NEEDED:
        if not is_running(paths.run / f"{agent}.lock"):
            raise Refused(f"{agent} does not run (systemctl enable --now spoteval-{agent})")


def begin(
    config: GuestConfig, paths: HostPaths, disk: DurablePaths, store: Store, by: str, now: Now
) -> str:
    """Make and start the drill's run; its name. Raises Refused, and Failed where the store does not hear of it."""
    boot = this_boot(disk, paths, now)
    if isinstance(boot, Unreadable):
        raise Refused(boot.why)
    _refuse_active(disk)
    name = drill_name(now.wall)
    new_run(config, disk, name, drill_plan(config, by), now)
    done = start_run(config, disk, name, store, boot)
    if isinstance(done.fact, Unreadable):
        raise Failed(
            f"{name} is active here, but the restarter does not know it yet: {done.fact.why}"
            f" (again: spoteval run start {name})"
        )
    return name


def live(disk: DurablePaths, run: str) -> Reading[Live]:
    """How many episodes are finished and in flight, by the run's own files."""
    paths = disk.run(run)
    record, known = read_run(paths), progress(paths)
    if isinstance(record, Unreadable) or isinstance(known, Unreadable):
        return record if isinstance(record, Unreadable) else Unreadable(str(known))
    survey = adapter(record.plan.harness).survey(record, paths.work)
    return Live(len(known.finished_keys), len(survey.in_flight))


def _refuse_active(disk: DurablePaths) -> None:
    """Before anything is made: a drill's run that never starts would only lie about."""
    other = active_run(disk)
    if not isinstance(other, str) or disk.run(other).end.exists():
        return
    known = progress(disk.run(other))
    if isinstance(known, Unreadable) or not known.complete:
        raise Refused(
            f'run "{other}" is active and not over: a drill would stop it'
            f" (spoteval run finish {other}, or drill when it is over)"
        )
