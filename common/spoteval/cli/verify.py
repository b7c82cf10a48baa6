"""`spoteval verify`."""

from pathlib import Path

import click

from spoteval.cli.output import json_option, say, say_json, step
from spoteval.control.refused import Failed, Refused
from spoteval.publication.verify import verify as checked
from spoteval.shape import Unreadable


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@json_option
def verify(directory: Path, as_json: bool) -> None:
    """Read every file of a pulled DIRECTORY again: missing, extra and differing ones are named."""
    found = checked(directory)
    if isinstance(found, Unreadable):
        raise Refused(found.why.removeprefix("verify: "))
    if as_json:
        say_json(
            {
                "run": found.run,
                "files": found.files,
                "verified": found.verified,
                "differences": [str(item) for item in found.differences],
            }
        )
    elif found.verified:
        say(f"{found.run}: {found.files} files, every byte as it was pulled")
    if not found.verified:
        for difference in found.differences:
            step(f"differs: {difference}")
        raise Failed(f"{len(found.differences)} of {found.files} files differ")
