"""`spoteval config show` and `spoteval config schema`."""

import json

import click

from spoteval.cli.common import STORE_VARIABLE, Host, disk_of, this_host
from spoteval.cli.output import json_option, say, say_json, table
from spoteval.config.host import read_host
from spoteval.config.schema import schema as host_schema
from spoteval.config.shown import Shown, differences, values
from spoteval.control.refused import Refused
from spoteval.control.runfiles import active_run, read_run
from spoteval.run import RunRecord


@click.command()
@json_option
def show(as_json: bool) -> None:
    """Every value in force and where it came from: environment, run, file, provider or default.

    What an active run has frozen wins over the file; a difference is said.
    """
    host = this_host()
    record = _active(host)
    found = _values(host, record)
    differ = _differences(host, record)
    if as_json:
        say_json({"values": [shown.record() for shown in found], "differences": differ})
        return
    say("\n".join(table([(shown.place, shown.value, shown.source) for shown in found])))
    for line in differ:
        say(line)


@click.command()
def schema() -> None:
    """The JSON Schema of the host file, for editors and for what writes such files."""
    say(json.dumps(host_schema(), indent=2))


def _values(host: Host, record: RunRecord | None) -> list[Shown]:
    if host.restarter is None and host.guest is None:
        raise Refused(f"this is a laptop: no {host.paths.config} (only {STORE_VARIABLE} is read)")
    return values(read_host(host.paths.config), record.plan if record is not None else None)


def _active(host: Host) -> RunRecord | None:
    """The frozen record of the active run; None where there is none, or the disk is not there to ask."""
    if host.guest is None:
        return None
    try:
        disk = disk_of(host.guest)
    except Refused:
        return None
    name = active_run(disk)
    found = read_run(disk.run(name)) if isinstance(name, str) else None
    return found if isinstance(found, RunRecord) else None


def _differences(host: Host, record: RunRecord | None) -> list[str]:
    if record is None or host.guest is None:
        return []
    return differences(record.plan, host.guest.run)
