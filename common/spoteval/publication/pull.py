"""Pull a run into an empty directory: fetched, checked against the manifests, laid out as on the guest.

Many files at a time. What is cut, by ^C, kill -9 or a full disk, is gone on with by the same pull: a part that lies
there with the digest of its manifest is not fetched again.
"""

import errno
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from spoteval.publication.keys import MANIFEST
from spoteval.publication.lanes import in_lanes
from spoteval.publication.target import (
    LOCK,
    PULLING,
    RECORD,
    PullRefused,
    Target,
    is_begun,
    names_in,
    opened,
)
from spoteval.publication.tree import (
    Difference,
    Left,
    TreeFile,
    TreeFolder,
    TreeLink,
    Unit,
    WithheldPart,
    run_layout,
    tree_units,
    unfinished,
)
from spoteval.store.contract import Store

__all__ = ["RECORD", "Progress", "PullRefused", "PullReport", "pull"]
LANES = 16
"""Gets at the same time: a service far away answers after tens of milliseconds."""
_BAD_NAME = (errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL)


@dataclass(frozen=True, slots=True)
class PullReport:
    """What was pulled, and every difference between the store and its own records."""

    run: str
    target: Path
    episodes: int
    files: int
    bytes: int
    differences: tuple[Difference, ...] = ()
    unfinished: tuple[str, ...] = ()
    withheld: tuple[WithheldPart, ...] = ()
    """Parts that the manifests name and that were never published: no difference."""
    left: tuple[Left, ...] = ()
    """What has no bytes and was not made: pipes, sockets, devices."""
    held: int = 0
    """Files that an earlier try had pulled already."""

    @property
    def verified(self) -> bool:
        """Every byte is what the records say."""
        return not self.differences


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is: bytes of the store's objects, and attempts, files and logs as units."""

    bytes: int
    of_bytes: int
    units: int
    of_units: int


@dataclass(slots=True)
class _Pulled:
    """What came so far."""

    files: list[dict[str, object]] = field(default_factory=list)
    held: int = 0
    differences: list[Difference] = field(default_factory=list)
    withheld: list[WithheldPart] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)

    def add(self, other: "_Pulled") -> None:
        self.files += other.files
        self.held += other.held
        self.differences += other.differences
        self.withheld += other.withheld
        self.left += other.left


def _unseen(progress: Progress) -> None:
    """Nobody looks."""


def pull(
    store: Store,
    run: str,
    target: Path,
    lanes: int = LANES,
    tell: Callable[[Progress], None] = _unseen,
) -> PullReport:
    """Fetch everything published of `run` into `target`, which is made, empty, or was begun by the same pull.

    A file that is not what its manifest says is named and not written. Raises PullRefused, StoreError, OSError: then
    what was fetched stays, and the same call goes on.
    """
    is_begun(target, run, store.url)
    found = run_layout(store, run)
    if not (found.attempts or found.whole or found.logs):
        raise PullRefused(f'pull: "{run}": no such run in {store.url} (spoteval run list)')
    with opened(target, run, store.url) as place:
        units = list(tree_units(store, run, found, place.held))
        pulled = _fetched(place, units, lanes, tell)
        if place.is_resumed:
            pulled.differences += _strange(place, pulled)
        blocked = (Difference(path, "a link, and something of its name") for path in place.link())
        pulled.differences += blocked
        place.finish(_record(store, run, place, pulled))
    return PullReport(
        run=run,
        target=target,
        episodes=_episodes(pulled.files),
        files=len(pulled.files),
        bytes=sum(int(str(item["size"])) for item in pulled.files),
        differences=tuple(pulled.differences),
        unfinished=unfinished(found),
        withheld=tuple(pulled.withheld),
        left=tuple(pulled.left),
        held=pulled.held,
    )


def _fetched(
    place: Target, units: list[Unit], lanes: int, tell: Callable[[Progress], None]
) -> _Pulled:
    whole, came, of_bytes = _Pulled(), 0, sum(unit.size for unit in units)
    for number, part in enumerate(in_lanes(units, partial(_taken, place), lanes), start=1):
        whole.add(part)
        came += units[number - 1].size
        tell(Progress(came, of_bytes, number, len(units)))
    return whole


def _taken(place: Target, unit: Unit) -> _Pulled:
    """One unit, written as it is read."""
    found = _Pulled()
    for item in unit.read():
        match item:
            case TreeFile():
                _take(place, item, found)
            case TreeFolder() | TreeLink():
                place.note(item)
            case WithheldPart():
                found.withheld.append(item)
            case Left():
                found.left.append(item)
            case Difference():
                found.differences.append(item)
    return found


def _take(place: Target, item: TreeFile, found: _Pulled) -> None:
    """One file. A name that this file system does not know is a difference, and ends nothing."""
    try:
        place.write(item)
    except OSError as error:
        if error.errno not in _BAD_NAME:
            raise
        found.differences.append(Difference(item.path, f"not written: {error.strerror}"))
    else:
        found.files.append(_file_record(item))
        found.held += item.is_held


def _strange(place: Target, pulled: _Pulled) -> list[Difference]:
    """What an earlier try has left, or somebody has put there, and the run does not have (any more)."""
    known = {str(item["path"]) for item in pulled.files}
    extra = names_in(place.root, (PULLING, LOCK)) - known
    return [Difference(path, "extra: lies there and is not of the run") for path in sorted(extra)]


def _record(store: Store, run: str, place: Target, pulled: _Pulled) -> dict[str, object]:
    folders = [{"path": path, "mode": mode} for path, mode in sorted(place.folders.items())]
    links = [{"path": path, "target": target} for path, target in sorted(place.links.items())]
    whole = {"files": pulled.files, "folders": folders, "links": links}
    return {"run": run, "store": store.url, **whole}


def _file_record(item: TreeFile) -> dict[str, object]:
    size = len(item.data)
    return {"path": item.path, "size": size, "sha256": item.sha256, "mode": item.mode}


def _episodes(pulled: list[dict[str, object]]) -> int:
    """Distinct episodes among the manifests that were pulled."""
    paths = (str(item["path"]).split("/") for item in pulled)
    return len({path[1] for path in paths if path[0] == "episodes" and path[3:] == [MANIFEST]})
