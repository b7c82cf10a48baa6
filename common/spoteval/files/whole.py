"""Whole files: written beside the target, synced, moved into place; never half there."""

import errno
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from spoteval.files.owner import give_to_owner, make_folder
from spoteval.files.step import about, step


def write_whole(path: Path, data: bytes, mode: int = 0o644, *, durable: bool = True) -> None:
    """Replace `path` by `data`, durable when it returns: either the old content or the new one, never less.

    Not `durable`, it outlives the process all the same; a power cut may leave it absent, or damaged: only for what
    is found again elsewhere. Raises OSError (ENOSPC, EROFS, …); then the old content stands.
    """
    with about(path):
        temporary = _written_beside(path, [data], mode, durable=durable)
        step("rename", path)
        try:
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        step("renamed", path)
        if durable:
            sync_directory(path.parent)


def write_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    """As `write_whole`, of what need not lie in memory at once."""
    with about(path):
        temporary = _written_beside(path, pieces, 0o644)
        step("rename", path)
        try:
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        step("renamed", path)
        sync_directory(path.parent)


def write_new(path: Path, data: bytes, mode: int = 0o644) -> bool:
    """Create `path` with `data`, durable when it returns; False, and nothing changed, where it is there already."""
    with about(path):
        temporary = _written_beside(path, [data], mode)
        try:
            step("link", path)
            os.link(temporary, path)
            step("linked", path)
        except FileExistsError:
            return False
        finally:
            temporary.unlink(missing_ok=True)
        sync_directory(path.parent)
        return True


def write_record(
    path: Path, record: Mapping[str, object], mode: int = 0o644, *, durable: bool = True
) -> None:
    """Replace `path` by a JSON record with its format number."""
    write_whole(path, encoded(record), mode, durable=durable)


def write_new_record(path: Path, record: Mapping[str, object], mode: int = 0o644) -> bool:
    """Create `path` as a JSON record; False where it is there already."""
    return write_new(path, encoded(record), mode)


def encoded(record: Mapping[str, object]) -> bytes:
    """A record as it lies on a disk or in the store: one JSON object, `format` first."""
    return json_line({"format": 1, **record})


def json_line(record: Mapping[str, object]) -> bytes:
    """One JSON object on a line. Names that are no text (surrogates, as Python reads them) come back as they were."""
    try:
        return (json.dumps(record, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(record) + "\n").encode()


def touch(path: Path, text: str = "") -> None:
    """Make `path` exist, with `text` when it is new; an existing file keeps its content and gets a new time."""
    make_folder(path.parent)
    if not path.exists():
        write_new(path, text.encode())
    path.touch()


def remove(path: Path) -> bool:
    """Remove a local file, durable when it returns; False where there was none."""
    step("unlink", path)
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    step("unlinked", path)
    sync_directory(path.parent)
    return True


def sync_directory(directory: Path) -> None:
    """Make the names in `directory` durable."""
    sync(directory, os.O_RDONLY | os.O_DIRECTORY)


def sync(path: Path, flags: int = os.O_RDONLY) -> None:
    """Make a file's bytes durable through a read-only descriptor (ext4 and xfs accept that)."""
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _written_beside(
    path: Path, pieces: Iterable[bytes], mode: int, *, durable: bool = True
) -> Path:
    make_folder(path.parent)
    # Of a name that is itself as long as names may be, the beginning does.
    temporary = path.with_name(f".{path.name[:50]}.{os.urandom(4).hex()}.tmp")
    step("write", path)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        give_to_owner(descriptor, path.parent)
        for data in pieces:
            _write_all(descriptor, data)
        if durable:
            os.fsync(descriptor)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    step("written", path)
    return temporary


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def move_aside(path: Path, target: Path) -> None:
    """Rename a file or folder, durable when it returns. Raises OSError, also FileExistsError where `target` is."""
    with about(path):
        if target.exists():
            raise FileExistsError(errno.EEXIST, "there is one set aside already", str(target))
        step("rename", path)
        path.rename(target)
        step("renamed", path)
        sync_directory(path.parent)
