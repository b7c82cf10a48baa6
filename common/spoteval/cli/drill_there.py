"""`spoteval drill forced-stop` typed on the restarter host."""

import shlex
from functools import partial

from spoteval.cli.common import Host, instance_of, patience, restarter_of, store_of, who
from spoteval.cli.drill_follow import Judged, followed
from spoteval.cli.output import step
from spoteval.cli.provider import provider_of
from spoteval.clock import monotonic_s, read_now
from spoteval.config.restarter import InstanceSettings
from spoteval.control.byhand import OBSERVE_S, refuse_price
from spoteval.control.refused import Failed, Refused
from spoteval.drill.there import There, assigned, is_live, newest_drill
from spoteval.loop import Waiting
from spoteval.machine import process
from spoteval.paths import InstancePaths
from spoteval.store.contract import StoreError

_LOOK_EVERY_S = 2.0
HEARD_S = 30.0
"""Besides four polls, in which the restarter has taken note of an announcement."""
_SSH_WITHIN_S = 120.0
_SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
_ON_GUEST = ("sudo", "spoteval", "drill", "forced-stop", "--run-only")


def there_of(host: Host, instance: str | None) -> There:
    """The instance of that name, or the only one. Raises Refused."""
    config = restarter_of(host)
    settings = instance_of(config, instance)
    paths = InstancePaths(host.paths.state, settings.name)
    return There(paths, store_of(host), provider_of(config, settings, host.paths))


def drill_there(host: Host, there: There, within_s: float) -> Judged:
    """Begin, or go on with, the drill of this instance, and follow it to its end."""
    config = restarter_of(host)
    settings = instance_of(config, there.instance)
    there.refuse(host.paths)
    run = assigned(there.store, there.instance)
    if run is None or not there.stopped_before(run):
        there.refuse_off()
        refuse_price(there.provider.price(OBSERVE_S), config.grant.price_cap)
    with patience() as waiting:
        if run is None:
            _ask_guest(settings)
            run = _until_assigned(there, waiting)
        if not there.stopped_before(run):
            _until_live(there, run, within_s, waiting)
        there.announce(run, who(), read_now())
        _until_heard(there, run, 4 * config.poll.every_s + HEARD_S, waiting)
        step(f"{run}: announced, and heard by the restarter; ^C leaves it, typed again it goes on")
        found = followed(
            lambda over: there.judged(run, given_up=over),
            within_s,
            waiting,
            partial(_due, there, run),
        )
    there.withdraw()
    return run, found


def show_there(there: There) -> Judged:
    """The last drill of this instance. Raises Refused where there was none."""
    run = newest_drill(there.store, there.instance)
    if run is None:
        raise Refused(f"no drill of {there.instance} is on record (spoteval drill forced-stop)")
    return run, there.judged(run)


def give_up(there: There) -> bool:
    """The announcement is withdrawn; False where there was none. The run goes on, or is finished on the guest."""
    return there.withdraw()


def _due(there: There, run: str) -> bool:
    """Ask for the stop that is due; False where a hold has come to stand, under which nothing comes any more."""
    try:
        number = there.next_stop(run)
        if number is not None:
            step(f"stop {number} asked: {there.stop(run, number, read_now())}")
        held = there.held()
    except StoreError as error:
        step(f"the store does not answer, looking again: {error}")
        return True
    if held:
        step(f"held meanwhile: {', '.join(held)}: nothing is started any more")
    return not held


def _ask_guest(settings: InstanceSettings) -> None:
    """The guest makes the run. Without ssh a person does: nothing has been done yet."""
    line = " ".join(_ON_GUEST)
    if settings.ssh is None:
        raise Refused(
            f"no drill's run is live on {settings.name}, and no ssh in [instance.{settings.name}]."
            f" On the guest: {line}; then here again. Nothing was done"
        )
    done = process.run([*_SSH, settings.ssh, shlex.join(_ON_GUEST)], _SSH_WITHIN_S)
    if not done.ok:
        said = "no answer" if done.timed_out else (done.err.strip().splitlines() or ["failed"])[-1]
        raise Failed(f"the guest did not begin by ssh {settings.ssh}: {said}. Nothing was stopped")
    step(f"the guest made its run (ssh {settings.ssh})")


def _until_assigned(there: There, waiting: Waiting) -> str:
    began_s = monotonic_s()
    while (run := assigned(there.store, there.instance)) is None:
        if monotonic_s() - began_s >= _SSH_WITHIN_S:
            raise Failed(
                f"the run of the guest is not in the store after {_SSH_WITHIN_S:.0f} s;"
                " nothing was stopped"
            )
        waiting.wait(_LOOK_EVERY_S)
    return run


def _until_live(there: There, run: str, within_s: float, waiting: Waiting) -> None:
    """In the midst of its episodes, by the guest's signs of life."""
    began_s = monotonic_s()
    while not is_live(*(known := there.live(run))):
        if monotonic_s() - began_s >= within_s:
            raise Failed(
                f"{run} is not live after {within_s:.0f} s ({known[0]} finished, {known[1]} in"
                f" flight); nothing was stopped (spoteval status {there.instance})"
            )
        waiting.wait(_LOOK_EVERY_S)
    step(f"live: {known[0]} finished, {known[1]} in flight")


def _until_heard(there: There, run: str, within_s: float, waiting: Waiting) -> None:
    began_s = monotonic_s()
    while not there.is_heard(run):
        if monotonic_s() - began_s >= within_s:
            there.withdraw()
            raise Failed(
                f"the restarter did not take note of the drill within {within_s:.0f} s; nothing was"
                " stopped (journalctl -u spoteval-restarter)"
            )
        waiting.wait(_LOOK_EVERY_S)
