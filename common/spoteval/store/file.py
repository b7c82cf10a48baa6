"""The store in a directory: `file:///path`. Create-only by link(2), durable by fsync."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from spoteval.files import sync, sync_directory
from spoteval.files.step import step
from spoteval.store.contract import NotThere, Put, Stored, StoreError, StoreRefused, key_error

Writer = Callable[[Path], None]


class FileStore:
    """A store below one directory. A reader of the directory never sees a half-written object."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.url = f"file://{root}"

    def put(self, key: str, data: bytes) -> Put:
        """Create `key` with `data`."""
        return self._create(key, lambda temporary: _write(temporary, data))

    def put_file(self, key: str, path: Path) -> Put:
        """Create `key` with the bytes of a file."""
        return self._create(key, lambda temporary: _copy(path, temporary))

    def get(self, key: str) -> bytes:
        """The bytes of `key`."""
        try:
            return self._path(key).read_bytes()
        except (FileNotFoundError, IsADirectoryError) as error:
            self._refuse_absent_root()
            raise NotThere(f"{self.url}/{key}: no such object") from error
        except OSError as error:
            raise StoreError(f"{self.url}/{key}: {error.strerror}") from error

    def list(self, prefix: str) -> Iterator[Stored]:
        """Every object whose key begins with `prefix`, in the order of keys."""
        self._refuse_absent_root()
        base = self._root / prefix.rpartition("/")[0]
        found = (self._stored(path) for path in self._below(base))
        yield from sorted(
            (item for item in found if item is not None and item.key.startswith(prefix)),
            key=lambda item: item.key,
        )

    def _below(self, base: Path) -> Iterator[Path]:
        """Every file below. A folder that cannot be read is an error: half a listing would read as absence."""

        def refuse(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                raise StoreError(f"{self.url}: {error.filename}: {error.strerror}") from error

        for directory, _, names in os.walk(base, onerror=refuse):
            yield from (Path(directory, name) for name in names)

    def _stored(self, path: Path) -> Stored | None:
        if path.name.startswith(".tmp-"):
            return None
        with suppress(FileNotFoundError):
            if path.is_file():
                return Stored(path.relative_to(self._root).as_posix(), path.stat().st_size)
        return None

    def _create(self, key: str, write: Writer) -> Put:
        target = self._path(key)
        try:
            return _link_new(target, self._root, write)
        except OSError as error:
            raise StoreError(f"{self.url}/{key}: {error.strerror}") from error

    def _path(self, key: str) -> Path:
        if (why := key_error(key)) is not None:
            raise StoreRefused(f"{self.url}: {why}")
        return self._root / key

    def _refuse_absent_root(self) -> None:
        if not self._root.is_dir():
            raise StoreError(f"{self.url}: no such directory (is it mounted?)")


def _link_new(target: Path, root: Path, write: Writer) -> Put:
    if not root.is_dir():
        raise FileNotFoundError(2, "no such directory (is it mounted?)")
    _make_parents(target.parent)
    temporary = target.with_name(f".tmp-{os.urandom(6).hex()}")
    try:
        write(temporary)
        sync(temporary)
        answer = _linked(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    # Also when it exists: whoever linked it may have died before its name was durable.
    sync_directory(target.parent)
    return answer


def _linked(temporary: Path, target: Path) -> Put:
    step("link", target)
    try:
        os.link(temporary, target)
    except FileExistsError:
        if target.is_dir():
            raise IsADirectoryError(21, "other keys lie below this one") from None
        return Put.EXISTS
    step("linked", target)
    return Put.CREATED


def _make_parents(directory: Path) -> None:
    """Make directories durable from the top, or a power cut may take a whole prefix with what lies in it."""
    if directory.is_dir():
        return
    _make_parents(directory.parent)
    directory.mkdir(exist_ok=True)
    sync_directory(directory.parent)


def _write(temporary: Path, data: bytes) -> None:
    step("write", temporary)
    temporary.write_bytes(data)


def _copy(source: Path, temporary: Path) -> None:
    step("write", temporary)
    shutil.copyfile(source, temporary)
