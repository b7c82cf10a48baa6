"""The tree of a run as the store holds it: every file checked on the way, every difference named."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from spoteval.episode import Extra
from spoteval.publication.keys import MANIFEST, part_key, run_prefix, safe_path
from spoteval.publication.layout import Layout, Published, Segment, attempt_folder, tree_path
from spoteval.publication.layout import layout as _layout
from spoteval.publication.manifest import Manifest, PartEntry, manifest_from
from spoteval.shape import Unreadable
from spoteval.store.contract import NotThere, Store, Stored


@dataclass(frozen=True)  # without slots: the digest is taken once
class TreeFile:
    """One file of the tree, as it was published. `is_held`: it lies in its place already, and was not fetched."""

    path: str
    data: bytes
    mode: int = 0o644
    is_held: bool = False

    @cached_property
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


@dataclass(frozen=True, slots=True)
class TreeFolder:
    """A folder of an episode and its mode: it may be empty."""

    path: str
    mode: int


@dataclass(frozen=True, slots=True)
class TreeLink:
    """A symbolic link of an episode, with its target as it was written."""

    path: str
    target: str


@dataclass(frozen=True, slots=True)
class Left:
    """What the episode had and nobody published: a pipe, a socket, a device, or what could not be read."""

    path: str
    kind: str

    def __str__(self) -> str:
        return f"{self.path}: {self.kind}, has no bytes to pull"


_CONFLICT = "an attempt whose name somebody else had taken; it is not in the tree, and not merged"

Found = TreeFile | TreeFolder | TreeLink | Left | Difference | WithheldPart
Held = Callable[[str, PartEntry], bytes | None]
"""The bytes of a part by its path, where they are at hand already and are what the manifest says."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What is read together: one attempt, one file, one log. `size`: bytes of its objects in the store."""

    size: int
    read: Callable[[], Iterator[Found]]


def _nothing_held(path: str, part: PartEntry) -> bytes | None:  # noqa: ARG001
    return None


def run_layout(store: Store, run: str) -> Layout:
    """One LIST of everything of a run; raises StoreError."""
    return _layout(run, store.list(run_prefix(run)))


def tree_files(store: Store, run: str, found: Layout) -> Iterator[Found]:
    """Every file of the tree, episodes first, one at a time in memory. Raises StoreError."""
    for unit in tree_units(store, run, found):
        yield from unit.read()


def tree_units(store: Store, run: str, found: Layout, held: Held = _nothing_held) -> Iterator[Unit]:
    """The same in units that may be read side by side. Reading one raises StoreError."""
    for item in found.attempts:
        if item.manifest is not None:
            size = item.manifest.size + sum(part.size for part in item.parts)
            yield Unit(size, partial(_attempt, store, run, item, item.manifest, held))
    for path, stored in found.whole.items():
        yield Unit(stored.size, partial(_whole, store, path, stored))
    for path, segments in found.logs.items():
        size = sum(stored.size for _, _, stored in segments)
        yield Unit(size, partial(_log, store, path, segments))
    others = [Difference(key, "is of no known kind") for key in found.unknown]
    others += (Difference(prefix, _CONFLICT) for prefix in found.conflicts)
    yield Unit(0, partial(iter, others))


def unfinished(found: Layout) -> tuple[str, ...]:
    """Attempts whose manifest is not there: begun to be published, and not published."""
    return tuple(attempt_folder(item) for item in found.attempts if item.manifest is None)


def _attempt(
    store: Store, run: str, item: Published, stored: Stored, held: Held
) -> Iterator[Found]:
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
    yield from _parts(store, run, item, manifest, held)
    yield from (_extra(folder, extra) for extra in manifest.extras)


def _parts(
    store: Store, run: str, item: Published, manifest: Manifest, held: Held
) -> Iterator[Found]:
    folder, named = attempt_folder(item), set[str]()
    for part in manifest.parts:
        key = part_key(run, item.episode, item.number, part.name)
        named.add(key)
        yield _part(store, key, f"{folder}/{_file_name(part.name)}", part, held)
    for extra in item.parts:
        if extra.key not in named:
            yield Difference(extra.key, "extra: no manifest names it")


def _file_name(name: str) -> str:
    """The part's own name where it can be a file's beside the manifest, else the safe one of its key."""
    plain = tree_path(safe_path(name).split("/"))
    return "%4D" + plain[1:] if plain == MANIFEST else plain


def _extra(folder: str, extra: Extra) -> Found:
    """What has no bytes, at a path that stays inside the tree."""
    path = f"{folder}/{tree_path(safe_path(extra.name).split('/'))}"
    if extra.kind == "folder":
        return TreeFolder(path, extra.mode)
    if extra.kind == "link" and extra.target is not None:
        return TreeLink(path, extra.target)
    return Left(path, extra.kind)


def _part(store: Store, key: str, path: str, part: PartEntry, held: Held) -> Found:
    if (known := held(path, part)) is not None:
        return TreeFile(path, known, part.mode, is_held=True)
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


def _whole(store: Store, path: str, stored: Stored) -> Iterator[Found]:
    data = store.get(stored.key)
    if len(data) != stored.size:
        yield Difference(path, f"differs: {len(data)} bytes, the listing says {stored.size}")
    else:
        yield TreeFile(path, data)


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
