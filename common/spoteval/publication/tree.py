"""The tree of a run as the store holds it: every file checked on the way, every difference named."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from spoteval.publication.keys import MANIFEST, part_key, run_prefix
from spoteval.publication.layout import Layout, Published, Segment, attempt_folder, tree_path
from spoteval.publication.layout import layout as _layout
from spoteval.publication.manifest import Manifest, PartEntry, manifest_from
from spoteval.shape import Unreadable
from spoteval.store.contract import NotThere, Store, Stored


@dataclass(frozen=True, slots=True)
class TreeFile:
    """One file of the tree, as it was published."""

    path: str
    data: bytes
    mode: int = 0o644

    @property
    def sha256(self) -> str:
        """The digest of its bytes."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not as the records say: where, and what."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


@dataclass(frozen=True, slots=True)
class WithheldPart:
    """A part that is not in the store, and the manifest says so: it held the secret of this credential."""

    path: str
    credential: str

    def __str__(self) -> str:
        return f'{self.path}: withheld, it held the secret of credential "{self.credential}"'


Found = TreeFile | Difference | WithheldPart


def run_layout(store: Store, run: str) -> Layout:
    """One LIST of everything of a run; raises StoreError."""
    return _layout(run, store.list(run_prefix(run)))


def tree_files(store: Store, run: str, found: Layout) -> Iterator[Found]:
    """Every file of the tree, episodes first, one at a time in memory. Raises StoreError."""
    for item in found.attempts:
        if item.manifest is not None:
            yield from _attempt(store, run, item, item.manifest)
    for path, stored in found.whole.items():
        yield _whole(store, path, stored)
    for path, segments in found.logs.items():
        yield from _log(store, path, segments)
    yield from (Difference(key, "is of no known kind") for key in found.unknown)


def unfinished(found: Layout) -> tuple[str, ...]:
    """Attempts whose manifest is not there: begun to be published, and not published."""
    return tuple(attempt_folder(item) for item in found.attempts if item.manifest is None)


def _attempt(store: Store, run: str, item: Published, stored: Stored) -> Iterator[Found]:
    folder = attempt_folder(item)
    data = store.get(stored.key)
    manifest = manifest_from(data, stored.key)
    if isinstance(manifest, Unreadable):
        yield Difference(f"{folder}/{MANIFEST}", manifest.why)
        return
    named = (manifest.run, manifest.attempt.key, manifest.attempt.number)
    if named != (run, item.episode, item.number):
        yield Difference(f"{folder}/{MANIFEST}", f"speaks of {named}, not of this attempt")
        return
    yield TreeFile(f"{folder}/{MANIFEST}", data)
    yield from _parts(store, run, item, manifest)


def _parts(store: Store, run: str, item: Published, manifest: Manifest) -> Iterator[Found]:
    folder, named = attempt_folder(item), set[str]()
    for part in manifest.parts:
        key = part_key(run, item.episode, item.number, part.name)
        named.add(key)
        yield _part(store, key, f"{folder}/{_file_name(key)}", part)
    for extra in item.parts:
        if extra.key not in named:
            yield Difference(extra.key, "extra: no manifest names it")


def _file_name(key: str) -> str:
    """The part's own name where it can be a file's beside the manifest, else the safe one of its key."""
    parts = key.split("/")[5:]
    plain = tree_path(parts)
    return "/".join(parts) if plain == MANIFEST else plain


def _part(store: Store, key: str, path: str, part: PartEntry) -> Found:
    try:
        data = store.get(key)
    except NotThere:
        if part.withheld is not None:
            return WithheldPart(path, part.withheld)
        return Difference(path, f"missing: the manifest names {part.size} bytes")
    if len(data) != part.size:
        return Difference(path, f"differs: {len(data)} bytes, the manifest says {part.size}")
    found = TreeFile(path, data, part.mode)
    if found.sha256 != part.sha256:
        return Difference(path, f"differs: sha256 {found.sha256}, the manifest says {part.sha256}")
    return found


def _whole(store: Store, path: str, stored: Stored) -> Found:
    data = store.get(stored.key)
    if len(data) != stored.size:
        return Difference(path, f"differs: {len(data)} bytes, the listing says {stored.size}")
    return TreeFile(path, data)


def _log(store: Store, path: str, segments: tuple[Segment, ...]) -> Iterator[Found]:
    """Join the segments. Two that overlap were published around a lost journal, and must agree."""
    data = bytearray()
    for offset, length, stored in segments:
        piece = store.get(stored.key)
        if len(piece) != length:
            yield Difference(stored.key, f"differs: {len(piece)} bytes, its name says {length}")
        if offset > len(data):
            yield Difference(path, f"missing: bytes {len(data)} to {offset}")
            return
        known = data[offset : offset + length]
        if piece[: len(known)] != known:
            yield Difference(stored.key, "differs: an earlier segment has other bytes there")
            continue
        data += piece[len(known) :]
    yield TreeFile(path, bytes(data))
