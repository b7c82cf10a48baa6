"""`spoteval math`: the file spot_math.py, which also runs alone."""

import sys

import click

from spoteval.placement import spot_math

_PASSED_ON = {"ignore_unknown_options": True, "help_option_names": []}


@click.command(context_settings=_PASSED_ON)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def math(words: tuple[str, ...]) -> None:
    """Interruptions of an EPISODE, cost of a RESTART, price of TOKENS, from inputs alone.

    `spoteval math --where` prints the path of the one file that does it: it needs nothing installed, on Python 3.10
    and later (`python3 -I spot_math.py`). `spoteval math episode --help` has the options, with an example.
    """
    if words == ("--where",):
        click.echo(spot_math.__file__)
    else:
        sys.exit(spot_math.main(words, "spoteval math"))
