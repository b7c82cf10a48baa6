"""Hold files to their records: a pulled directory to what was pulled, the guest's disk to the store."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from spoteval.files import read_lines, read_record
from spoteval.paths import RunPaths
from spoteval.publication.keys import MANIFEST, safe
from spoteval.publication.manifest import manifest_bytes
from spoteval.publication.own import is_temporary, own_names
from spoteval.publication.pull import RECORD
from spoteval.publication.tree import Difference, TreeFile, run_layout, tree_files
from spoteval.shape import Reading, ShapeError, Table, Unreadable
from spoteval.store.contract import Store


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """How many files were looked at, and everything that is not as recorded."""

    run: str
    files: int
    differences: tuple[Difference, ...] = ()

    @property
    def verified(self) -> bool:
        """Every byte is what the records say."""
        return not self.differences


def verify(target: Path) -> Reading[VerifyReport]:
    """Read every file of a pulled directory again: missing, extra and differing ones are named.

    Unreadable where the directory was never pulled into, or its record is damaged.
    """
    table = read_record(target / RECORD)
    if table is None:
        return Unreadable(f'verify: "{target}": no {RECORD} (not made by spoteval pull)')
    if isinstance(table, Unreadable):
        return table
    try:
        recorded = {item.text("path"): item for item in table.tables("files")}
        named = tuple(_differing(target, recorded))
        run = table.text("run")
    except ShapeError as error:
        return Unreadable(f"{target / RECORD}: {error}")
    extra = sorted(_names(target) - recorded.keys() - {RECORD})
    return VerifyReport(
        run, len(recorded), (*named, *(Difference(name, "extra: not pulled") for name in extra))
    )


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


def _differing(target: Path, recorded: Mapping[str, Table]) -> Iterator[Difference]:
    for path, item in recorded.items():
        what = _unlike(target / path, item.whole("size"), item.text("sha256"))
        if what is not None:
            yield Difference(path, what)


def _unlike(path: Path, size: int, sha256: str) -> str | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"unreadable: {error.strerror}"
    if len(data) != size:
        return f"differs: {len(data)} bytes, pulled were {size}"
    found = hashlib.sha256(data).hexdigest()
    return None if found == sha256 else f"differs: sha256 {found}, pulled was {sha256}"


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


def _names(root: Path) -> set[str]:
    """Every file below `root` but our own temporaries."""
    return {
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and not is_temporary(path.name)
    }
