"""`spoteval drill forced-stop` typed on the guest."""

from spoteval.cli.common import Host, disk_of, patience, store_of
from spoteval.cli.drill_follow import Judged, followed
from spoteval.cli.output import step
from spoteval.cli.passing import ask_pass
from spoteval.clock import monotonic_s, read_now
from spoteval.config.guest import GuestConfig
from spoteval.control.boot import this_boot
from spoteval.control.refused import Failed, Refused
from spoteval.control.requests import SOON
from spoteval.control.runfiles import read_run
from spoteval.drill.expect import Expectation, expectations
from spoteval.drill.here import begin, last_drill, live, refuse_here, under_way, untold
from spoteval.drill.plan import GUEST, RESTARTER
from spoteval.drill.records import disk_evidence
from spoteval.drill.screen import record
from spoteval.drill.stop import Stopper
from spoteval.files import write_record
from spoteval.loop import Waiting
from spoteval.paths import DurablePaths
from spoteval.run import RunRecord
from spoteval.shape import Unreadable

_LOOK_EVERY_S = 1.0
_PASS_WITHIN_S = 30.0


def drill_here(
    host: Host, config: GuestConfig, instance: str | None, within_s: float, *, run_only: bool
) -> Judged | None:
    """Begin a drill and switch off; or go on with the one that is under way. None: there is nothing to judge yet."""
    if instance not in (None, config.instance):
        raise Refused(f'"{instance}": this guest is "{config.instance}" and drills no other')
    disk, store = disk_of(config), store_of(host)
    run = under_way(disk)
    over = untold(disk) if run is None and not run_only else None
    if over is not None and _by(disk, over) == GUEST:
        # Who types the line again when the machine is back may come too late to watch: no other drill is meant.
        return _watched(disk, over, within_s)
    if run is None or not _was_stopped(disk, run):
        refuse_here(disk, host.paths)
    by = _by(disk, run) if run is not None else RESTARTER if run_only else GUEST
    if run_only and by == GUEST:
        raise Refused(f"{run} is under way, and its stops come from this guest (spoteval status)")
    if run is None:
        run = begin(config, host.paths, disk, store, by, read_now())
        step(f"{run} is the active run; boot-resume starts it when the servers are ready")
    if by == RESTARTER and len(disk_evidence(disk, run).lives) < 2:
        step(
            f"the stops come from the restarter host: spoteval drill forced-stop {config.instance}"
        )
        return None
    with patience() as waiting:
        if not _was_stopped(disk, run):
            _first_stop(host, config, disk, run, within_s, waiting)
            return None
    return _watched(disk, run, within_s)


def _watched(disk: DurablePaths, run: str, within_s: float) -> Judged:
    """To its end, and that it was is on record."""
    with patience() as waiting:
        found = followed(lambda over: _judged(disk, run, given_up=over), within_s, waiting)
    write_record(disk.run(run).drilled, record(run, found))
    return run, found


def show_here(config: GuestConfig) -> Judged:
    """The last drill of this disk. Raises Refused where there was none."""
    disk = disk_of(config)
    run = last_drill(disk)
    if run is None:
        raise Refused("no drill is on record on this disk (spoteval drill forced-stop)")
    return run, _judged(disk, run, given_up=False)


def _first_stop(
    host: Host,
    config: GuestConfig,
    disk: DurablePaths,
    run: str,
    within_s: float,
    waiting: Waiting,
) -> None:
    """Once the run is in the midst of its episodes."""
    _until_live(disk, run, within_s, waiting)
    boot = this_boot(disk, host.paths, read_now())
    if isinstance(boot, Unreadable):
        raise Failed(f"{boot.why}: nothing was stopped")
    Stopper(config, host.paths, disk, boot, run).stop(1, store_of(host))
    step("announced, and power off asked; the restarter starts this machine again")
    step("when it is back: spoteval drill forced-stop")


def _until_live(disk: DurablePaths, run: str, within_s: float, waiting: Waiting) -> None:
    began_s = monotonic_s()
    while True:
        known = live(disk, run)
        if not isinstance(known, Unreadable) and known.enough:
            step(f"live: {known.finished} finished, {known.in_flight} in flight")
            return
        if monotonic_s() - began_s >= within_s:
            why = known.why if isinstance(known, Unreadable) else "too few episodes run"
            raise Failed(
                f"{run} is not live after {within_s:.0f} s ({why}); nothing was stopped"
                " (spoteval status; again: spoteval drill forced-stop)"
            )
        waiting.wait(_LOOK_EVERY_S)


def _judged(disk: DurablePaths, run: str, *, given_up: bool) -> tuple[Expectation, ...]:
    """This key reads nothing in the store: what arrived there is what the follower, asked now, has left over."""
    lives = disk_evidence(disk, run).lives
    arrived = None
    if len(lives) > 1:
        done = ask_pass(disk, SOON, "drill", _PASS_WITHIN_S)
        arrived = None if done is None else done.backlog == 0
    return expectations(disk_evidence(disk, run, arrived), given_up=given_up)


def _was_stopped(disk: DurablePaths, run: str) -> bool:
    lives = disk_evidence(disk, run).lives
    return len(lives) > 1 or any(life.stop is not None for life in lives)


def _by(disk: DurablePaths, run: str) -> str:
    """Who asks for the stops of a drill that is under way."""
    record = read_run(disk.run(run))
    if not isinstance(record, RunRecord):
        raise Refused(record.why)
    return record.plan.preflight[-1]
