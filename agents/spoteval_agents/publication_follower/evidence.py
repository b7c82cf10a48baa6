"""Bytes that a power cut cannot take back: synced first, hashed while read, looked at again after."""

import errno
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

IN_MEMORY_BYTES = 8_000_000
"""A file up to this size is sent from the very bytes that were hashed."""


_CHUNK = 1 << 20

# An episode may put a link or a pipe in the place of its file: the one is not followed, the other not waited for.
_ZIP = b"PK"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Changed(Exception):
    """The file changed while it was looked at: nothing is wrong, the next pass takes it."""


class Unfinished(Changed):
    """Some of its parts are sent; the next pass sends the rest."""


class Torn(Changed):
    """The file is half written, or looks like that: what was published of it is better than what it holds now."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.why = why


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


@dataclass(frozen=True, slots=True)
class Bytes:
    """A piece of our own making, or of an open log."""

    data: bytes

    @property
    def blob(self) -> Blob:
        """Digest and size."""
        return blob_of(self.data)

    def put(self, store: Store, key: str) -> Put:
        """Send it. Raises StoreError."""
        return store.put(key, self.data)


class OpenLog:
    """An appended file, durable up to the size that it had when it was opened; what is appended later is not seen."""

    def __init__(self, path: Path, top: Path, screen: Screen) -> None:
        """Raises OSError, and ValueError for what is no plain file or leads out of `top`."""
        refuse_outside(path, top)
        self._file, self._screen = opened(path), screen
        found = os.fstat(self._file.fileno())
        self.ident, self.size = _ident(found), found.st_size
        os.fsync(self._file.fileno())
        sync_names(path.parent, top)

    def __enter__(self) -> "OpenLog":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, offset: int, length: int) -> bytes:
        """Raises Changed where the file has less than it had."""
        data = os.pread(self._file.fileno(), length, offset)
        if len(data) < length:
            raise Changed(f"{self._file.name}: shrank while it was read")
        return data

    def refuse_secret(self, offset: int, length: int) -> None:
        """Raises Withheld where a secret stands in this stretch, or reaches into it from either side."""
        margin = self._screen.needles.longest
        stream, at = self._screen.stream(), max(0, offset - margin)
        end = min(self.size, offset + length + margin)
        while margin and at < end:
            stream.feed(self.read(at, min(_CHUNK, end - at)))
            at += _CHUNK
        if stream.found is not None:
            raise Withheld(secret_of(stream.found), self.ident)


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
    refuse_outside(path, top)
    with opened(path) as file:
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


class Below:
    """Opens files below a directory and follows no link on the way; then makes durable what names them.

    Use it as a context manager, for the files of one episode: the folders stay open as long.
    """

    def __init__(self, top: Path) -> None:
        self._top = os.fspath(top)
        self._folders: dict[str, int] = {}
        self._holding: set[str] = set()

    def __enter__(self) -> "Below":
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._folders.values():
            os.close(descriptor)

    def take(self, path: Path, screen: Screen) -> Evidence:
        """As the function of this name, but the names are durable only after `sync`, and that of all `above`."""
        folder, _, name = os.fspath(path).removeprefix(f"{self._top}/").rpartition("/")
        if os.fspath(path).startswith("/") and not os.fspath(path).startswith(f"{self._top}/"):
            raise ValueError(f"{path}: leads out of {self._top}")
        at = self._folder(folder, path)
        self._holding.add(folder)
        descriptor, before = _plain(path, name, at)
        try:
            os.fsync(descriptor)
            data, blob, secret = _looked_through(descriptor, before.st_size, screen)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        ident = _ident(before)
        shown = os.stat(name, dir_fd=at, follow_symlinks=False)
        if not _ident(after) == ident == _ident(shown):
            raise Changed(f"{path}: changed while it was read")
        if secret is None and (data is None or data.startswith(_ZIP)):
            secret = screen.inside(path)
        return Evidence(path, ident, before.st_mode & 0o777, blob, data, secret)

    @property
    def above(self) -> frozenset[str]:
        """Folders that hold nothing that was taken but lead there: a new folder is lost with all in it otherwise."""
        return frozenset(self._folders.keys() - self._holding)

    def sync(self) -> None:
        """The folders of all that was taken."""
        for name in self._holding:
            os.fsync(self._folders[name])

    def sync_folder(self, name: str) -> None:
        """One of those above. Raises OSError, and ValueError for a link."""
        os.fsync(self._folder(name, Path(self._top, name)))

    def _folder(self, name: str, path: Path) -> int:
        known = self._folders.get(name)
        if known is not None:
            return known
        above, _, last = name.rpartition("/")
        try:
            if name:
                found = os.open(last, _FOLDER, dir_fd=self._folder(above, path))
            else:
                found = os.open(self._top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise ValueError(f"{path}: leads out of {self._top}") from None
            raise OSError(error.errno, error.strerror, str(path)) from error
        self._folders[name] = found
        return found


def refuse_outside(path: Path, top: Path) -> None:
    """Raises ValueError where a link above the file leads out of `top`."""
    if not path.parent.resolve().is_relative_to(top.resolve()):
        raise ValueError(f"{path}: leads out of {top}")


def opened(path: Path) -> BufferedReader:
    """The file, open; raises ValueError for whatever is none."""
    return os.fdopen(_plain(path, path)[0], "rb")


def _plain(path: Path, name: str | Path, at: int | None = None) -> tuple[int, os.stat_result]:
    """A descriptor of the file `name` in the folder `at`, and what is there; `path` is how errors call it."""
    try:
        descriptor = os.open(name, _FLAGS, dir_fd=at)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    found = os.fstat(descriptor)
    if not S_ISREG(found.st_mode):
        os.close(descriptor)
        raise ValueError(f"{path}: not a plain file")
    return descriptor, found


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


def _looked_through(
    descriptor: int, size: int, screen: Screen
) -> tuple[bytes | None, Blob, str | None]:
    """Bytes, digest, and whose secret is in them. What is small is read in one piece, without a file around it."""
    if size <= IN_MEMORY_BYTES:
        data = _all_of(descriptor, size)
        return data, blob_of(data), screen.needles.found_in(data)
    stream = screen.stream()
    with open(descriptor, "rb", closefd=False) as file:
        found, blob = _read(file, size, stream)
    return found, blob, stream.found


def _all_of(descriptor: int, size: int) -> bytes:
    """To the end, one byte more than there were at most: then it has grown, and is not taken."""
    data = os.read(descriptor, size + 1)
    while len(data) < size and (more := os.read(descriptor, size + 1 - len(data))):
        data += more
    return data


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
    return Ident(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
