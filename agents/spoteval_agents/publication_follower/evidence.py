"""Bytes that a power cut cannot take back: synced first, hashed while read, looked at again after."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from stat import S_ISREG

from spoteval.files import sync_directory
from spoteval.publication.needles import Stream
from spoteval.store.contract import Put, Store
from spoteval_agents.publication_follower.screen import Screen, Withheld, secret_of
from spoteval_agents.publication_follower.work import Blob, Ident

IN_MEMORY_BYTES = 64_000_000
"""A file up to this size is sent from the very bytes that were hashed."""


_CHUNK = 1 << 20

# An episode may put a link or a pipe in the place of its file: the one is not followed, the other not waited for.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Changed(Exception):
    """The file changed while it was looked at: nothing is wrong, the next pass takes it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a file, or one member of it, held. `data` is None where it is too large to be kept."""

    path: Path
    ident: Ident
    mode: int
    blob: Blob
    data: bytes | None
    secret: str | None = None
    """The credential whose secret it holds."""

    def put(self, store: Store, key: str) -> Put:
        """Send it. Raises StoreError, Changed where a large file changed while it was sent, and Withheld."""
        self.refuse_secret()
        if self.data is not None:
            return store.put(key, self.data)
        answer = store.put_file(key, self.path)
        if ident_of(self.path) != self.ident:
            raise Changed(f"{self.path}: changed while it was sent")
        return answer

    def refuse_secret(self) -> None:
        """Raises Withheld where it may not be published."""
        if self.secret is not None:
            raise Withheld(secret_of(self.secret), self.ident)


def take(
    path: Path,
    top: Path,
    read: Callable[[], bytes] | None = None,
    screen: Screen | None = None,
) -> Evidence:
    """The bytes of `path`, or what `read` takes out of it, durable before they are read.

    `top` is the directory up to which names are made durable, and out of which nothing is read: an episode may have
    put a link there. Raises OSError (a vanished source is an error), ValueError for a link that leads out, Changed,
    and whatever `read` raises.
    """
    if not path.parent.resolve().is_relative_to(top.resolve()):
        raise ValueError(f"{path}: leads out of {top}")
    with _opened(path) as file:
        before = os.fstat(file.fileno())
        os.fsync(file.fileno())
        sync_names(path.parent, top)
        stream = (screen or Screen()).stream()
        if read is None:
            data, blob = _read(file, before.st_size, stream)
        else:
            data, blob = _of(read(), stream)
        after = os.fstat(file.fileno())
    ident = _ident(before)
    if not _ident(after) == ident == ident_of(path):
        raise Changed(f"{path}: changed while it was read")
    secret = stream.found
    if secret is None and screen is not None and read is None:
        secret = screen.inside(path)
    return Evidence(path, ident, before.st_mode & 0o777, blob, data, secret)


def _opened(path: Path) -> BufferedReader:
    """The file, open; raises ValueError for whatever is none."""
    descriptor = os.open(path, _FLAGS)
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError(f"{path}: not a plain file")
    return os.fdopen(descriptor, "rb")


def blob_of(data: bytes) -> Blob:
    """Digest and size of bytes."""
    return Blob(hashlib.sha256(data).hexdigest(), len(data))


def ident_of(path: Path) -> Ident:
    """The file as stat shows it now; raises OSError."""
    return _ident(path.lstat())


def sync_names(directory: Path, top: Path) -> None:
    """Make the names from `directory` up to `top` durable: a new folder is lost with all in it otherwise."""
    chain = [directory, *directory.parents]
    for folder in chain[: chain.index(top) + 1] if top in chain else chain[:1]:
        sync_directory(folder)


def _read(file: BufferedReader, size: int, stream: Stream) -> tuple[bytes | None, Blob]:
    if size <= IN_MEMORY_BYTES:
        return _of(file.read(), stream)
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
        stream.feed(chunk)
    return None, Blob(digest.hexdigest(), file.tell())


def _of(data: bytes, stream: Stream) -> tuple[bytes, Blob]:
    stream.feed(data)
    return data, blob_of(data)


def _ident(found: os.stat_result) -> Ident:
    return Ident(found.st_ino, found.st_size, found.st_mtime_ns)
