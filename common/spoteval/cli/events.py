"""`spoteval events`."""

import json

import click

from spoteval.cli.common import this_host
from spoteval.cli.follow import follow_until_stopped
from spoteval.cli.output import follow_option, json_option, say, say_json, table
from spoteval.cli.sight import sights
from spoteval.clock import read_now
from spoteval.event import Event
from spoteval.report.event_lines import HEAD, cells
from spoteval.report.gather import Sight
from spoteval.report.gather import events as gathered


@click.command()
@click.argument("name", required=False)
@json_option
@follow_option
def events(name: str | None, as_json: bool, follow: bool) -> None:
    """Every start, stop, price, hold and stage: of this host, and of the run as it was published.

    NAME is an instance on the restarter host, elsewhere a run. With --json one object a line.
    """
    where = sights(this_host(), name)
    shown: set[str] = set()

    def show() -> None:
        fresh = [event for event in _seen(where) if _identity(event) not in shown]
        _say(fresh, as_json, head=not shown)
        shown.update(_identity(event) for event in fresh)

    follow_until_stopped(show) if follow else show()
    if not shown and not as_json:
        say("no events yet")


def _seen(where: tuple[Sight, ...]) -> list[Event]:
    found = [event for sight in where for event in gathered(sight, read_now())]
    return sorted(found, key=lambda event: event.at)


def _identity(event: Event) -> str:
    return json.dumps(event.record(), sort_keys=True)


def _say(found: list[Event], as_json: bool, *, head: bool) -> None:
    if as_json:
        for event in found:
            say_json(event.record())
    elif found:
        say("\n".join(table([cells(event) for event in found], HEAD if head else ())))
