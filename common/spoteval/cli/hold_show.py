"""`spoteval hold show`."""

import click

from spoteval.cli.common import Host, disk_of, maybe_store, this_host
from spoteval.cli.hold import named
from spoteval.cli.output import json_option, say, say_json
from spoteval.clock import Now, read_now
from spoteval.report.gather import Sight, holds
from spoteval.report.holds import HoldsSeen, lines


@click.command()
@click.argument("instance", required=False)
@json_option
def show(instance: str | None, as_json: bool) -> None:
    """Every hold on INSTANCE: four files, each with what it does, and the objects in the store."""
    host, now = this_host(""), read_now()
    seen = holds_seen(host, named(host, instance), now)
    if as_json:
        say_json(seen.record())
        return
    say(seen.head)
    say("\n".join(lines(seen)))


def holds_seen(host: Host, instance: str, now: Now) -> HoldsSeen:
    """What this host can see. Raises Refused where the guest's disk is not proved."""
    disk = disk_of(host.guest) if host.guest else None
    serves = host.restarter is not None
    return holds(Sight(host.paths, maybe_store(host), instance, disk, serves=serves), now)
