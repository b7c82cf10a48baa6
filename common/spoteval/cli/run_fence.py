"""`spoteval run fence`: closes the clouds' metadata addresses to the run's user. Called by `spoteval-fence.service`."""

import os

import click

from spoteval.cli.output import say
from spoteval.control.fence import fence_run
from spoteval.control.refused import Failed, Refused
from spoteval.shape import Unreadable


@click.command()
def fence() -> None:
    """Close the metadata addresses to the run's user until the next boot. For root."""
    if os.geteuid() != 0:
        raise Refused("only root can change the kernel's rules (sudo spoteval run fence)")
    user = fence_run()
    if isinstance(user, Unreadable):
        raise Failed(f"metadata addresses: {user.why}: not closed on this host")
    say(f"metadata addresses are closed to {user}")
