"""`spoteval stop-self`: what an agent has done before it powers off, where power off does not end the bill. Hidden."""

import os

import click

from spoteval.cli.common import guest_of, this_host
from spoteval.cli.output import json_option, say_json
from spoteval.control.byhand import answered
from spoteval.control.eventlog import tell
from spoteval.files import touch
from spoteval.provider.own import own_stop
from spoteval.shape import ShapeError


@click.command(name="stop-self")
@click.argument("reason")
@json_option
def stop_self(reason: str, as_json: bool) -> None:  # noqa: ARG001 - the one form that agents ask for
    """Ask the provider once to stop this machine, and power it off whatever the answer is."""
    host = this_host("")
    guest = guest_of(host)
    try:
        stop = own_stop(guest.provider, guest.provider_table, os.environ)
        said = answered(stop()) if stop is not None else "none"
    except ShapeError as error:
        said = str(error)
    if said != "accepted":
        tell(f"stop-self: {said}: billed until the restarter stops it under its hold", warning=True)
    touch(host.paths.poweroff, reason)
    say_json({"reply": said})
