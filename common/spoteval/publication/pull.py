"""Pull a run into an empty directory: fetched, checked against the manifests, laid out as on the guest."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from spoteval.files import write_record, write_whole
from spoteval.publication.keys import MANIFEST
from spoteval.publication.tree import (
    Difference,
    TreeFile,
    WithheldPart,
    run_layout,
    tree_files,
    unfinished,
)
from spoteval.store.contract import Store

RECORD = ".spoteval-pull.json"
"""What was pulled, with sizes and digests: `verify` holds the directory to it."""


class PullRefused(Exception):
    """The pull is not begun: the target holds something, or the store holds no such run. One line; exit 3."""


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

    @property
    def verified(self) -> bool:
        """Every byte is what the records say."""
        return not self.differences


def pull(store: Store, run: str, target: Path) -> PullReport:
    """Fetch everything published of `run` into `target`, which is made or must be empty.

    A file that is not what its manifest says is named and not written. Raises PullRefused, StoreError, OSError.
    """
    _refuse_used(target)
    found = run_layout(store, run)
    if not (found.attempts or found.whole or found.logs):
        raise PullRefused(f'pull: "{run}": no such run in {store.url} (spoteval run list)')
    target.mkdir(parents=True, exist_ok=True)
    pulled, differences = list[dict[str, object]](), list[Difference]()
    withheld = list[WithheldPart]()
    for item in tree_files(store, run, found):
        if isinstance(item, TreeFile):
            pulled.append(_written(target, item))
        elif isinstance(item, WithheldPart):
            withheld.append(item)
        else:
            differences.append(item)
    write_record(target / RECORD, {"run": run, "store": store.url, "files": pulled})
    return PullReport(
        run=run,
        target=target,
        episodes=_episodes(pulled),
        files=len(pulled),
        bytes=sum(int(str(item["size"])) for item in pulled),
        differences=tuple(differences),
        unfinished=unfinished(found),
        withheld=tuple(withheld),
    )


def _refuse_used(target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise PullRefused(f'pull: "{target}" is no directory')
    if target.is_dir() and (first := next(iter(sorted(target.iterdir())), None)) is not None:
        raise PullRefused(
            f'pull: "{target}" is not empty ("{first.name}"); a pull goes into an empty directory'
        )


def _written(target: Path, item: TreeFile) -> dict[str, object]:
    write_whole(target / item.path, item.data, item.mode)
    digest = hashlib.sha256(item.data).hexdigest()
    return {"path": item.path, "size": len(item.data), "sha256": digest}


def _episodes(pulled: Iterable[dict[str, object]]) -> int:
    """Distinct episodes among the manifests that were pulled."""
    paths = (str(item["path"]).split("/") for item in pulled)
    return len({path[1] for path in paths if path[0] == "episodes" and path[3:] == [MANIFEST]})
