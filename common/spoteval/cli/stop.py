"""`spoteval stop`: hold first, then stop, and say STOPPED only when the provider does."""

from pathlib import Path

import click

from spoteval.cli.common import Host, instance_of, patience, this_host, who
from spoteval.cli.output import json_option, say, say_json, step
from spoteval.cli.provider import provider_of
from spoteval.cli.stop_guest import stop_here
from spoteval.clock import read_now
from spoteval.config.restarter import InstanceSettings, RestarterConfig
from spoteval.control.byhand import (
    CALL_S,
    MANUAL_STOP,
    Watched,
    answered,
    is_off,
    record_call,
    report_on,
    watch,
)
from spoteval.control.guest_by_ssh import place_guest_hold
from spoteval.control.handhold import hold_file
from spoteval.control.refused import Failed, Refused
from spoteval.paths import DurablePaths, InstancePaths
from spoteval.provider.contract import Observation

WITHIN_S = 900.0
_LOOK_EVERY_S = 5.0
GUEST_HOLD = DurablePaths(
    Path("/mnt/durable")
).guest_hold  # where it lies unless [disk] path differs


@click.command()
@click.argument("instance", required=False)
@click.option("--reason", required=True, help="Stands in every decision line until it is lifted.")
@click.option("--no-resume", is_flag=True, help="Also place the guest hold: its next boot waits.")
@json_option
def stop(instance: str | None, reason: str, no_resume: bool, as_json: bool) -> None:
    """Stop INSTANCE on purpose: hold it, read the hold back, stop it, wait until it is off.

    Works on either host. On the guest the hold is proved in the store, then the run is stopped by its own
    path, a last pass is published and the machine powers off.
    """
    host = this_host("")
    if host.guest:
        done = stop_here(host, host.guest, instance, reason, no_resume=no_resume)
    elif host.restarter:
        settings = instance_of(host.restarter, instance)
        done = _stop_there(host, host.restarter, settings, reason, no_resume=no_resume)
    else:
        raise Refused(
            "this is a laptop; it is typed on the guest or on the restarter host"
            " (from here: spoteval hold place INSTANCE --ensure-stopped --reason R)"
        )
    if as_json:
        say_json(done)
    else:
        lift = f", and on the guest: rm {GUEST_HOLD}" if host.restarter and no_resume else ""
        say(f"to go on: spoteval hold release {done['instance']}{lift}")


def _stop_there(
    host: Host, config: RestarterConfig, settings: InstanceSettings, reason: str, *, no_resume: bool
) -> dict[str, object]:
    ssh = _ssh(settings) if no_resume else None
    provider = provider_of(config, settings, host.paths)
    paths = InstancePaths(host.paths.state, settings.name)
    stands = hold_file(paths, f"{reason} ({who()})")
    step(f'held: {paths.hold} "{stands}", read back')
    if ssh is not None:
        step(f"guest hold: {place_guest_hold(ssh, reason, who())}")
    record_call(paths, MANUAL_STOP, read_now(), reason)
    step(f"stop asked: {answered(provider.stop(CALL_S))}; ^C leaves hold and stop as they are")
    with patience() as waiting:
        every_s = min(config.poll.in_motion_s, _LOOK_EVERY_S)
        seen = watch(provider, is_off, WITHIN_S, every_s, waiting, read_now)
    if not seen.reached:
        raise Failed(report_on(paths, seen, read_now()))
    step(f"STOPPED{_billed(seen)} after {seen.took_s:.0f} s")
    return {
        "instance": settings.name,
        "hold": str(paths.hold),
        "reason": stands,
        "guest_hold": ssh is not None,
        "state": seen.word,
        "took_s": round(seen.took_s, 1),
    }


def _ssh(settings: InstanceSettings) -> str:
    target = settings.ssh
    if target is None:
        raise Refused(
            f"cannot place the guest hold: no ssh in [instance.{settings.name}]."
            f" On the guest: sudo touch {GUEST_HOLD}. Nothing was done",
            subject=f"stop {settings.name} --no-resume",
        )
    return target


def _billed(seen: Watched) -> str:
    billed = seen.last.billed if isinstance(seen.last, Observation) else None
    return ", not billed," if billed is False else ", billed or not is not known,"
