"""`spoteval run new|start|stop`."""

import click

from spoteval.cli.active import active_record
from spoteval.cli.common import disk_of, guest_of, store_of, this_host, who
from spoteval.cli.output import json_option, say, say_json
from spoteval.cli.runstop import stop_active
from spoteval.clock import read_now
from spoteval.control.boot import this_boot
from spoteval.control.refused import Failed, Refused
from spoteval.control.runlife import (
    STOPPED_BY,
    Started,
    hold_guest,
    new_plan,
    new_run,
    start_run,
)
from spoteval.report.runs import record_lines
from spoteval.run import LABELS
from spoteval.shape import Unreadable


@click.command()
@click.argument("name")
@click.option("--label", type=click.Choice(LABELS), help="Instead of [run] label.")
@click.option("--like", metavar="RUN", help="Take the frozen plan of RUN instead of [run].")
@json_option
def new(name: str, label: str | None, like: str | None, as_json: bool) -> None:
    """Freeze [run] into the record of run NAME and print it. Starts nothing."""
    config = guest_of(this_host())
    disk = disk_of(config)
    record = new_run(config, disk, name, new_plan(config, disk, label, like), read_now())
    if as_json:
        say_json(record.record())
        return
    say("\n".join(record_lines(record)))
    say(f"\nfrozen in {disk.run(name).record}; nothing is started.  spoteval run start {name}")


@click.command()
@click.argument("name")
@json_option
def start(name: str, as_json: bool) -> None:
    """Make run NAME the active one; boot-resume starts it, or resumes it."""
    host = this_host()
    config = guest_of(host)
    disk = disk_of(config)
    boot = this_boot(disk, host.paths, read_now())
    done = start_run(config, disk, name, store_of(host), boot)
    if as_json:
        say_json(_record(done))
    else:
        say("\n".join(_lines(done)))
    if isinstance(done.fact, Unreadable):
        raise Failed(
            f"{name} is active here, but the restarter does not know it yet: {done.fact.why}"
            f" (again: spoteval run start {name})"
        )


@click.command()
@click.argument("name", required=False)
@click.option("--reason", required=True, help="Stands in the guest hold and in the events.")
@json_option
def stop(name: str | None, reason: str, as_json: bool) -> None:
    """Place the guest hold and stop the active run by its own stop path. It stays resumable."""
    host = this_host()
    config = guest_of(host)
    disk = disk_of(config)
    record = active_record(disk)
    if name not in (None, record.name):
        raise Refused(f'"{name}" is not the active run, that is "{record.name}"')
    placed = hold_guest(disk, f"{STOPPED_BY}: {reason} ({who()})")
    done = stop_active(host, disk, record, reason)
    if as_json:
        say_json({"run": record.name, "guest_hold": str(disk.guest_hold), "stopped": done})
        return
    stood = "placed" if placed else "stood already"
    say(f"guest hold {stood}: {disk.guest_hold}")
    say(done)
    say(f"to go on: spoteval run start {record.name}")


def _record(done: Started) -> dict[str, object]:
    return {
        "run": done.record.name,
        "generation": done.record.generation,
        "assigned": None if isinstance(done.fact, Unreadable) else done.fact,
        "missing": done.fact.why if isinstance(done.fact, Unreadable) else None,
        "removed": list(done.lifted),
        "guest_hold": done.guest_hold,
    }


def _lines(done: Started) -> list[str]:
    lines = [f"{done.record.name} is the active run; boot-resume takes it from here"]
    if not isinstance(done.fact, Unreadable):
        lines.append(f"assigned to {done.record.instance} in the store: {done.fact}")
    lines += [f"removed {path}" for path in done.lifted]
    if done.guest_hold is not None:
        lines.append(f'it waits for the guest hold "{done.guest_hold}" (spoteval hold show)')
    return lines
