"""`spoteval config show`."""

import os

import click

from spoteval.cli.common import STORE_VARIABLE, Host, disk_of, this_host
from spoteval.cli.output import json_option, say, say_json, table
from spoteval.config.host import read_host
from spoteval.config.shown import (
    ENVIRONMENT,
    RUN,
    Shown,
    differences,
    guest_values,
    restarter_values,
    run_pairs,
)
from spoteval.control.refused import Refused
from spoteval.control.runfiles import active_run, read_run
from spoteval.run import RunRecord


@click.command()
@json_option
def show(as_json: bool) -> None:
    """Every value in force and where it came from: environment, run, file or default.

    What an active run has frozen wins over the file; a difference is said.
    """
    host = this_host()
    record = _active(host)
    values = [_by_environment(shown) for shown in _values(host, record)]
    differ = _differences(host, record)
    if as_json:
        say_json({"values": [shown.record() for shown in values], "differences": differ})
        return
    say("\n".join(table([(shown.place, shown.value, shown.source) for shown in values])))
    for line in differ:
        say(line)


def _values(host: Host, record: RunRecord | None) -> list[Shown]:
    if host.restarter:
        return restarter_values(read_host(host.paths.config), host.restarter)
    if not host.guest:
        raise Refused(f"this is a laptop: no {host.paths.config} (only {STORE_VARIABLE} is read)")
    values = guest_values(read_host(host.paths.config), host.guest)
    if record is None:
        return values
    own = [shown for shown in values if not shown.place.startswith("run.")]
    return [*own, *(Shown(place, value, RUN) for place, value in run_pairs(record.plan))]


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


def _by_environment(shown: Shown) -> Shown:
    url = os.environ.get(STORE_VARIABLE)
    if shown.place == "store.url" and url:
        return Shown(shown.place, url, ENVIRONMENT)
    return shown
