"""`spoteval pull`."""

from pathlib import Path

import click

from spoteval.cli.common import store_of, this_host
from spoteval.cli.output import json_option, say, say_json, step
from spoteval.control.refused import Failed, Refused
from spoteval.publication.pull import PullRefused, PullReport
from spoteval.publication.pull import pull as fetch
from spoteval.run import name_error


@click.command()
@click.argument("run")
@click.argument("directory", type=click.Path(path_type=Path))
@json_option
def pull(run: str, directory: Path, as_json: bool) -> None:
    """Fetch all that was published of RUN into the empty DIRECTORY, checked against its manifests."""
    if (why := name_error(run)) is not None:
        raise Refused(why)
    try:
        found = fetch(store_of(this_host()), run, directory)
    except PullRefused as error:
        raise Refused(str(error).removeprefix("pull: ")) from error
    if as_json:
        say_json(_record(found))
    else:
        _tell(found)
    if not found.verified:
        raise Failed(f"{len(found.differences)} differences, first {found.differences[0]}")


def _tell(found: PullReport) -> None:
    for difference in found.differences:
        step(f"differs: {difference}")
    for attempt in found.unfinished:
        step(f"not published to its end, left out: {attempt}")
    for part in found.withheld:
        step(str(part))
    verdict = "every byte verified" if found.verified else "NOT all verified"
    say(
        f"{found.run}: {found.episodes} episodes, {found.files} files, {found.bytes} bytes"
        f" into {found.target}, {verdict}"
    )


def _record(found: PullReport) -> dict[str, object]:
    return {
        "run": found.run,
        "target": str(found.target),
        "episodes": found.episodes,
        "files": found.files,
        "bytes": found.bytes,
        "verified": found.verified,
        "differences": [str(item) for item in found.differences],
        "unfinished": list(found.unfinished),
        "withheld": [str(item) for item in found.withheld],
    }
