"""`spoteval restarts`."""

from pathlib import Path

import click

from spoteval.cli.numbers import basis, logs_of
from spoteval.cli.output import json_option, say, say_json, table
from spoteval.placement.restart_path import paths, summary
from spoteval.report.restart_lines import HEAD, each, notes, record, rows


@click.command()
@click.argument("places", nargs=-1, type=click.Path(path_type=Path), metavar="[DIR|FILE]...")
@click.option("--each", "every", is_flag=True, help="Every restart, one a line, as well.")
@click.option("--drills", is_flag=True, help="Restarts that a drill brought about, too.")
@json_option
def restarts(places: tuple[Path, ...], every: bool, drills: bool, as_json: bool) -> None:
    """How long the way back takes, stage by stage, from the events of both hosts.

    DIR is a restarter's state directory, a pulled run, or a directory of such: name both, so that all stages are seen.
    Without one it is this host's own.
    """
    logs = logs_of(places)
    found = [path for events in logs.by_instance.values() for path in paths(events, drills=drills)]
    known = summary(found)
    if as_json:
        say_json(record(found, known))
        return
    lines = [*table(rows(known), HEAD), *notes(known), basis(logs)]
    say("\n".join([*(table(each(found)) if every and found else []), *lines]))
