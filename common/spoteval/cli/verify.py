"""`spoteval verify`."""

from pathlib import Path

import click

from spoteval.cli.common import store_of, this_host
from spoteval.cli.output import json_option, say, say_json, step
from spoteval.control.refused import Failed, Refused
from spoteval.publication.target import PullRefused
from spoteval.publication.verify import VerifyReport, verify_store
from spoteval.publication.verify import verify as checked
from spoteval.run import name_error
from spoteval.shape import Unreadable


@click.command()
@click.argument("directory", metavar="DIRECTORY|RUN")
@click.option("--store-only", is_flag=True, help="Hold RUN in the store to its manifests.")
@json_option
def verify(directory: str, store_only: bool, as_json: bool) -> None:
    """Read every file of a pulled DIRECTORY again: missing, extra and differing ones are named.

    With --store-only: every object of RUN in the store is read and held to its manifest, and nothing is written.
    """
    found = _stored(directory) if store_only else _pulled(Path(directory))
    if as_json:
        say_json(_record(found))
    else:
        for attempt in found.unfinished:
            step(f"not published to its end, left out: {attempt}")
    if not found.verified:
        for difference in found.differences if not as_json else ():
            step(f"differs: {difference}")
        raise Failed(f"{len(found.differences)} of {found.files} files differ")
    if not as_json:
        held = "every byte in the store as its manifests say" if store_only else ""
        say(f"{found.run}: {found.files} files, {held or 'every byte as it was pulled'}")


def _pulled(directory: Path) -> VerifyReport:
    found = checked(directory)
    if isinstance(found, Unreadable):
        raise Refused(found.why.removeprefix("verify: "))
    return found


def _stored(run: str) -> VerifyReport:
    if (why := name_error(run)) is not None:
        raise Refused(why)
    try:
        return verify_store(store_of(this_host()), run)
    except PullRefused as error:
        raise Refused(str(error).removeprefix("verify: ")) from error


def _record(found: VerifyReport) -> dict[str, object]:
    return {
        "run": found.run,
        "files": found.files,
        "verified": found.verified,
        "differences": [str(item) for item in found.differences],
        "unfinished": list(found.unfinished),
    }
