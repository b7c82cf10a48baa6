"""Hold bytes to their records: a pulled directory to what was pulled, the store to its manifests, the guest's disk to
the store."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from spoteval.files import read_lines
from spoteval.paths import RunPaths
from spoteval.publication.keys import MANIFEST, safe
from spoteval.publication.lanes import in_lanes
from spoteval.publication.manifest import manifest_bytes
from spoteval.publication.own import is_temporary, own_names
from spoteval.publication.recorded import File, Recorded, recorded, unlike, unlike_others
from spoteval.publication.target import RECORD, PullRefused, names_in
from spoteval.publication.tree import (
    Difference,
    Found,
    TreeFile,
    Unit,
    run_layout,
    tree_files,
    tree_units,
    unfinished,
)
from spoteval.shape import Reading, Unreadable
from spoteval.store.contract import Store

LANES, STORE_LANES, SLICE = 4, 16, 256
"""Slices of files that are read side by side; gets from a store at the same time; files of a slice."""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """How many files were looked at, and everything that is not as recorded."""

    run: str
    files: int
    differences: tuple[Difference, ...] = ()
    unfinished: tuple[str, ...] = ()
    """Attempts without a manifest: not published, hence no difference."""

    @property
    def verified(self) -> bool:
        """Every byte is what the records say."""
        return not self.differences


def verify(target: Path) -> Reading[VerifyReport]:
    """Read every file of a pulled directory again: missing, extra and differing ones are named.

    Unreadable where the directory was never pulled into, or not to the end, or its record is damaged.
    """
    record = recorded(target)
    if isinstance(record, Unreadable):
        return record
    named = [item for part in _read_again(target, record) for item in part]
    named += unlike_others(target, record)
    here = {name for name in names_in(target) if not is_temporary(name.rpartition("/")[2])}
    extra = sorted(here - {item.path for item in record.files} - record.links.keys() - {RECORD})
    named += (Difference(name, "extra: not pulled") for name in extra)
    return VerifyReport(record.run, len(record.files), tuple(named))


def _read_again(target: Path, record: Recorded) -> Iterable[list[Difference]]:
    files = iter(record.files)
    slices = iter(lambda: list(islice(files, SLICE)), [])
    return in_lanes(slices, partial(_unlike_files, target), LANES)


def _unlike_files(target: Path, files: list[File]) -> list[Difference]:
    found = ((item.path, unlike(target, item)) for item in files)
    return [Difference(path, what) for path, what in found if what is not None]


def verify_store(store: Store, run: str) -> VerifyReport:
    """Hold every object of a run in the store to its manifest; nothing is written. Raises StoreError, PullRefused."""
    found = run_layout(store, run)
    if not (found.attempts or found.whole or found.logs):
        raise PullRefused(f'verify: "{run}": no such run in {store.url} (spoteval run list)')
    files, named = 0, list[Difference]()
    for items in in_lanes(tree_units(store, run, found), _light, STORE_LANES):
        named += (item for item in items if isinstance(item, Difference))
        files += sum(not isinstance(item, Difference) for item in items)
    return VerifyReport(run, files, tuple(named), unfinished(found))


def _light(unit: Unit) -> list[Found]:
    """What a unit has, without the bytes: they were looked at while it was read."""
    every = (item for item in unit.read() if isinstance(item, Difference | TreeFile))
    return [TreeFile(item.path, b"") if isinstance(item, TreeFile) else item for item in every]


def compare(store: Store, run: str, run_dir: Path) -> VerifyReport:
    """The store against the run's directory on the durable disk, byte for byte. Raises StoreError, OSError.

    Episodes are held to the witness, whose digests were taken from the disk's bytes; of what lies below `work/`,
    only files that were published are looked at.
    """
    paths = RunPaths(run_dir)
    differences, seen = list[Difference](), set[str]()
    witnessed = {_folder_tail(line): line for line in read_lines(paths.finished).records}
    for item in tree_files(store, run, run_layout(store, run)):
        if isinstance(item, Difference):
            differences.append(item)
        elif isinstance(item, TreeFile):
            seen.add(item.path)
            differences += _against_disk(item, run, run_dir, witnessed)
    differences += (_unpublished(name) for name in own_names(run_dir) if name not in seen)
    differences += (
        Difference(f"episodes/{key}/{number}", "missing: witnessed, not in the store")
        for key, number in witnessed
    )
    return VerifyReport(run, len(seen), tuple(differences))


def _against_disk(
    item: TreeFile, run: str, run_dir: Path, witnessed: dict[tuple[str, str], dict[str, object]]
) -> Iterable[Difference]:
    if item.path.startswith("episodes/"):
        return _against_witness(item, run, witnessed)
    if item.path.startswith("epochs/"):
        return ()  # the claim in the store says more than the note of it on the disk
    try:
        data = (run_dir / item.path).read_bytes()
    except FileNotFoundError:
        return (Difference(item.path, "missing on the disk"),)
    if data == item.data:
        return ()
    behind = data.startswith(item.data)
    what = f"behind: the disk has {len(data) - len(item.data)} more bytes" if behind else "differs"
    return (Difference(item.path, what),)


def _against_witness(
    item: TreeFile, run: str, witnessed: dict[tuple[str, str], dict[str, object]]
) -> Iterable[Difference]:
    """A manifest is made from its witness line alone; its parts were held to it while the tree was read."""
    if not item.path.endswith(f"/{MANIFEST}"):
        return ()
    _, episode, number, _ = item.path.split("/")
    line = witnessed.pop((episode, number), None)
    if line is None:
        return (Difference(item.path, "extra: the disk has no witness of it"),)
    same = manifest_bytes(run, line) == item.data
    return () if same else (Difference(item.path, "differs from the disk's witness"),)


def _folder_tail(line: Mapping[str, object]) -> tuple[str, str]:
    return safe(str(line.get("episode"))), str(line.get("attempt"))


def _unpublished(name: str) -> Difference:
    return Difference(name, "missing: on the disk, not in the store")
