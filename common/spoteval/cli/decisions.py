"""`spoteval decisions`."""

from pathlib import Path

import click

from spoteval.cli.common import Host, disk_of, this_host
from spoteval.cli.follow import follow_until_stopped
from spoteval.cli.output import follow_option, json_option, say, say_json
from spoteval.clock import stamp
from spoteval.control.refused import Refused
from spoteval.paths import InstancePaths
from spoteval.report.host_facts import Said, decision_files
from spoteval.report.host_facts import decisions as kept


@click.command()
@click.option("--agent", help="Only this agent's.")
@json_option
@follow_option
def decisions(agent: str | None, as_json: bool, follow: bool) -> None:
    """What the agents of this host decided: each change, and one line an hour. The journal has all.

    With --json one object a line.
    """
    host = this_host()
    shown = 0

    def show() -> None:
        nonlocal shown
        found = [said for said in kept(_files(host)) if agent in (None, said.agent)]
        for said in found[shown:]:
            _say(said, as_json)
        shown = len(found)

    follow_until_stopped(show) if follow else show()
    if not shown and not as_json:
        say("no decisions yet")


def _files(host: Host) -> tuple[Path, ...]:
    if host.guest:
        return decision_files(disk_of(host.guest))
    if host.restarter:
        names = [instance.name for instance in host.restarter.instances]
        return tuple(InstancePaths(host.paths.state, name).decisions for name in names)
    raise Refused("this is a laptop; decisions are on the hosts that take them")


def _say(said: Said, as_json: bool) -> None:
    if as_json:
        say_json({"at": stamp(said.at), "agent": said.agent, **said.pairs})
    else:
        say(f"{stamp(said.at)} {said.line}")
