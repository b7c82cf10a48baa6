"""`spoteval run accept-environment`, and what boot-resume asks of the machine."""

import click

from spoteval.cli.active import active_record
from spoteval.cli.common import disk_of, guest_of, this_host, who
from spoteval.cli.output import json_option, say, say_json
from spoteval.clock import read_now
from spoteval.control.environment import ACCEPTED, standing
from spoteval.control.environment_facts import facts
from spoteval.control.eventlog import log_event
from spoteval.control.refused import Refused
from spoteval.event import Event
from spoteval.files import read_lines
from spoteval.machine.session import this_session


@click.command(name="accept-environment")
@click.option("--reason", required=True, help="Stands in the events and in the report.")
@json_option
def accept(reason: str, as_json: bool) -> None:
    """Go on although GPU, driver, server, harness or model changed. The report discloses it."""
    host = this_host()
    config = guest_of(host)
    disk = disk_of(config)
    run = active_record(disk)
    paths = disk.run(run.name)
    found = standing(run, read_lines(paths.events).records)
    if not found.changes:
        raise Refused(f"{run.name}: no change waits to be accepted (spoteval status)")
    now = read_now()
    session = this_session(host.paths.session, now.boot).id
    detail: dict[str, object] = {"run": run.name, "changes": list(found.changes)}
    said = f"{reason} ({who()})"
    log_event(
        paths.events,
        Event(now.wall, ACCEPTED, "operator", config.instance, session, said, detail=detail),
    )
    if as_json:
        say_json(detail)
        return
    say("\n".join(f"{run.name}: {change}: accepted" for change in found.changes))
    say("boot-resume goes on within seconds; the report discloses it")


@click.command()
@json_option
def environment(as_json: bool) -> None:
    """What the active run is measured on, as far as the machine and the host file tell."""
    config = guest_of(this_host("boot-resume"))
    values, unknown = facts(active_record(disk_of(config)).plan, config.servers)
    if as_json:
        say_json({"values": dict(values), "unknown": dict(unknown)})
        return
    say("\n".join(f"{name}  {value}" for name, value in values.items()))
    say("\n".join(f"{name}  unknown: {why}" for name, why in unknown.items()))
