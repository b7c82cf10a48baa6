"""`spoteval run show|list`: from the disk on the guest, from the store elsewhere."""

import click

from spoteval.cli.common import Host, disk_of, store_of, this_host
from spoteval.cli.output import json_option, say, say_json, table
from spoteval.config.grant import tightened
from spoteval.config.restarter import RestarterConfig
from spoteval.control.environment import Standing, standing
from spoteval.control.holds import look
from spoteval.control.refused import Refused
from spoteval.control.runfiles import active_run, read_run
from spoteval.files import read_lines
from spoteval.report.environment import environment_lines, environment_record
from spoteval.report.rules import Rules, limits_line
from spoteval.report.run_list import in_store, on_disk, stored_record
from spoteval.report.runs import HEAD, RunLine, record_lines
from spoteval.run import RunRecord
from spoteval.shape import Reading, Unreadable


@click.command()
@click.argument("name", required=False)
@json_option
def show(name: str | None, as_json: bool) -> None:
    """The frozen record of run NAME and how far it is.

    Without NAME: of the active run on the guest, of the one that the instance is assigned to on the restarter host.
    """
    host = this_host()
    name = name or _active(host)
    record = _record(host, name)
    if isinstance(record, Unreadable):
        raise Refused(record.why)
    line = next((item for item in _lines(host) if item.name == name), None)
    done = line.record() if line is not None else {}
    if as_json:
        keys = ("state", "finished", "intended")
        limits = in_force(host.restarter, record).record(None) if host.restarter else None
        measured = {"environment": environment_record(_standing(host, record))}
        shown = {key: done.get(key) for key in keys}
        say_json({**record.record(), **shown, "limits": limits, **measured})
        return
    say("\n".join(record_lines(record)))
    if line is not None:
        say(f"{'progress':<12} {line.state}, {line.cells()[4]} episodes finished")
    for said in environment_lines(_standing(host, record)):
        say(f"{'environment':<12} {said}")
    if host.restarter:
        say(f"{'in force':<12} {limits_line(in_force(host.restarter, record).limits)}")


@click.command(name="list")
@json_option
def list_(as_json: bool) -> None:
    """All runs of this disk, or of the store."""
    lines = _lines(this_host())
    if as_json:
        say_json({"runs": [line.record() for line in lines]})
    elif lines:
        say("\n".join(table([line.cells() for line in lines], HEAD)))
    else:
        say("no runs yet (spoteval run new NAME)")


def _standing(host: Host, record: RunRecord) -> Standing:
    """By the run's events, which lie on the guest; elsewhere nothing is known of it."""
    if host.guest is None:
        return Standing()
    return standing(record, read_lines(disk_of(host.guest).run(record.name).events).records)


def _lines(host: Host) -> tuple[RunLine, ...]:
    return on_disk(disk_of(host.guest)) if host.guest else in_store(store_of(host))


def in_force(config: RestarterConfig, record: RunRecord) -> Rules:
    """The run's own rules and the grant, the tighter one of each."""
    limits = tightened(config.grant, record.plan.stop_rules)
    return Rules(limits, Unreadable("spoteval status"), record.name, record.generation)


def _assigned(host: Host, config: RestarterConfig) -> str:
    """The run of the only instance, or of all where it is one; raises Refused."""
    store = store_of(host)
    found = {one.name: look(store, one.name).assigned for one in config.instances}
    runs = {run[0] for run in found.values() if run is not None}
    if len(runs) == 1:
        return runs.pop()
    said = ", ".join(f"{name}: {run[0] if run else 'none'}" for name, run in found.items())
    raise Refused(f"name a run (assigned: {said})")


def _active(host: Host) -> str:
    if host.restarter:
        return _assigned(host, host.restarter)
    active = active_run(disk_of(host.guest)) if host.guest else None
    if isinstance(active, Unreadable):
        raise Refused(active.why)
    if active is None:
        raise Refused("no run is active here: name one (spoteval run list)")
    return active


def _record(host: Host, name: str) -> Reading[RunRecord]:
    if host.guest is None:
        return stored_record(store_of(host), name)
    disk = disk_of(host.guest)
    if not disk.run(name).root.exists():
        raise Refused(f'"{name}": no such run (spoteval run list)')
    return read_run(disk.run(name))
