"""`spoteval pull`."""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from spoteval.cli.common import store_of, this_host
from spoteval.cli.output import json_option, say, say_json, step
from spoteval.cli.progress import Bar
from spoteval.control.refused import Failed, Refused
from spoteval.publication.pull import PullRefused, PullReport
from spoteval.publication.pull import pull as fetch
from spoteval.run import name_error
from spoteval.store.contract import StoreError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_GOES_ON = "what is there stays, the same command goes on"


@click.command()
@click.argument("run")
@click.argument("directory", type=click.Path(path_type=Path))
@json_option
def pull(run: str, directory: Path, as_json: bool) -> None:
    """Fetch all that was published of RUN into the empty DIRECTORY, checked against its manifests.

    What was cut, by ^C, a dead machine or a full disk, is gone on with by the same command.
    """
    if (why := name_error(run)) is not None:
        raise Refused(why)
    with _told(), Bar(sys.stderr, "pull") as bar:
        found = fetch(store_of(this_host()), run, directory, tell=bar.show)
    if as_json:
        say_json(_record(found))
    else:
        _tell(found)
    if not found.verified:
        raise Failed(f"{len(found.differences)} differences, first {found.differences[0]}")


@contextmanager
def _told() -> Iterator[None]:
    """What ends a pull says that it can be gone on with."""
    try:
        yield
    except PullRefused as error:
        raise Refused(str(error).removeprefix("pull: ")) from error
    except StoreError as error:
        raise Failed(f"{error} ({_GOES_ON})") from error
    except OSError as error:
        room = "make room; " if error.errno in _FULL else ""
        where = error.filename or "the directory"
        raise Failed(f"{where}: {error.strerror} ({room}{_GOES_ON})") from error
    except KeyboardInterrupt:
        step(f"pull: {_GOES_ON}")
        raise


def _tell(found: PullReport) -> None:
    for difference in found.differences:
        step(f"differs: {difference}")
    for attempt in found.unfinished:
        step(f"not published to its end, left out: {attempt}")
    for part in (*found.withheld, *found.left):
        step(str(part))
    verdict = "every byte verified" if found.verified else "NOT all verified"
    before = f", {found.held} of them there before" if found.held else ""
    say(
        f"{found.run}: {found.episodes} episodes, {found.files} files{before}, {found.bytes} bytes"
        f" into {found.target}, {verdict}"
    )


def _record(found: PullReport) -> dict[str, object]:
    return {
        "run": found.run,
        "target": str(found.target),
        "episodes": found.episodes,
        "files": found.files,
        "held": found.held,
        "bytes": found.bytes,
        "verified": found.verified,
        "differences": [str(item) for item in found.differences],
        "unfinished": list(found.unfinished),
        "withheld": [str(item) for item in found.withheld],
        "left": [str(item) for item in found.left],
    }
