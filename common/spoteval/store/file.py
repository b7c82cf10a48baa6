"""The store in a directory: `file:///path`. Create-only by link(2), durable by fsync."""

import os
import shutil
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path

from spoteval.files import give_path_to_owner, sync, sync_directory
from spoteval.files.step import step
from spoteval.store.contract import NotThere, Put, Stored, StoreError, StoreRefused, key_error

Writer = Callable[[Path], None]
Found = list[Stored]


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
        self._refuse_bad(key)
        try:
            with open(f"{self._root}/{key}", "rb") as file:  # noqa: PTH123 - once a poll of each instance
                return file.read()
        except (FileNotFoundError, IsADirectoryError) as error:
            self._refuse_absent_root()
            raise NotThere(f"{self.url}/{key}: no such object") from error
        except OSError as error:
            raise StoreError(f"{self.url}/{key}: {error.strerror}") from error

    def list(self, prefix: str) -> Iterator[Stored]:
        """Every object whose key begins with `prefix`, in the order of keys."""
        above = prefix.rpartition("/")[0]
        found: Found = []
        self._gather(f"{self._root}/{above}", f"{above}/" if above else "", found)
        if not found:
            self._refuse_absent_root()
        found.sort(key=attrgetter("key"))
        yield from (item for item in found if item.key.startswith(prefix))

    def _gather(self, directory: str, keys: str, found: Found) -> None:
        """Add every object below; `keys` begins their keys. Looked at often by many, hence without paths.

        A folder that cannot be read is an error: half a listing would read as absence.
        """
        try:
            with os.scandir(directory) as entries:
                inside = list(entries)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise StoreError(f"{self.url}: {error.filename}: {error.strerror}") from error
        for entry in inside:
            if entry.is_dir(follow_symlinks=False):
                self._gather(entry.path, f"{keys}{entry.name}/", found)
            elif (stored := _stored(entry, keys + entry.name)) is not None:
                found.append(stored)

    def _create(self, key: str, write: Writer) -> Put:
        target = self._path(key)
        try:
            return _link_new(target, self._root, write)
        except OSError as error:
            raise StoreError(f"{self.url}/{key}: {error.strerror}") from error

    def _path(self, key: str) -> Path:
        self._refuse_bad(key)
        return self._root / key

    def _refuse_bad(self, key: str) -> None:
        if (why := key_error(key)) is not None:
            raise StoreRefused(f"{self.url}: {why}")

    def _refuse_absent_root(self) -> None:
        if not self._root.is_dir():
            raise StoreError(f"{self.url}: no such directory (is it mounted?)")


def _stored(entry: "os.DirEntry[str]", key: str) -> Stored | None:
    """One object; None for what is being written, has just gone, or is no file."""
    if entry.name.startswith(".tmp-"):
        return None
    try:
        return Stored(key, entry.stat().st_size) if entry.is_file() else None
    except FileNotFoundError:
        return None


def _link_new(target: Path, root: Path, write: Writer) -> Put:
    if not root.is_dir():
        raise FileNotFoundError(2, "no such directory (is it mounted?)")
    _make_parents(target.parent)
    temporary = target.with_name(f".tmp-{os.urandom(6).hex()}")
    try:
        write(temporary)
        give_path_to_owner(temporary)
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
    """Make directories durable from the top, or a power cut may take a whole prefix with what lies in it.

    What root makes belongs to whom the store belongs: the agents put beside it.
    """
    if directory.is_dir():
        return
    _make_parents(directory.parent)
    directory.mkdir(exist_ok=True)
    give_path_to_owner(directory)
    sync_directory(directory.parent)


def _write(temporary: Path, data: bytes) -> None:
    step("write", temporary)
    temporary.write_bytes(data)


def _copy(source: Path, temporary: Path) -> None:
    step("write", temporary)
    shutil.copyfile(source, temporary)
