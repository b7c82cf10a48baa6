"""Following: look again and again until ^C, which is how it ends well."""

from collections.abc import Callable

import click

from spoteval.cli.common import patience

EVERY_S = 2.0


def follow_until_stopped(look: Callable[[], None], every_s: float = EVERY_S) -> None:
    """Call `look` at once and then every `every_s` seconds; returns at ^C or TERM."""
    with patience() as waiting:
        try:
            while True:
                look()
                waiting.wait(every_s)
        except click.Abort:
            return
