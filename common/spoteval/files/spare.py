"""Space taken in advance: a record that must be written also when the disk is full."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from spoteval.files.owner import give_to_owner, make_folder
from spoteval.files.step import step
from spoteval.files.whole import encoded, sync_directory, write_new

SIZE_BYTES = 4096
"""One block: a record of ours has a few hundred bytes."""


def lay_spare(folder: Path, name: str) -> None:
    """Make `folder` with a file of blanks in it, durable: the names and the blocks of a later record.

    It appears as a whole, so that who fills it never meets who lays it.
    """
    made = folder.with_name(f".{folder.name}.tmp")
    make_folder(made)
    step("write", folder / name)
    descriptor = os.open(made / name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        give_to_owner(descriptor, made)
        os.pwrite(descriptor, b" " * SIZE_BYTES, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    step("written", folder / name)
    sync_directory(made)
    move_spare(made, folder)


def fill_spare(folder: Path, name: str, record: Mapping[str, object], target: Path) -> None:
    """Write the record over the blanks and move the folder to `target`; durable when it returns.

    Takes no free space: bytes are overwritten in place, the rest is cut off. Until the folder has its
    new name nobody looks into it. Raises OSError where there is no spare, or `target` is taken.
    """
    data = encoded(record)
    if len(data) > SIZE_BYTES:
        raise OSError(errno.EFBIG, "the record is larger than its spare", str(folder / name))
    descriptor = os.open(folder / name, os.O_WRONLY | os.O_CLOEXEC)
    try:
        step("write", folder / name)
        os.pwrite(descriptor, data, 0)
        os.ftruncate(descriptor, len(data))
        os.fsync(descriptor)
        step("written", folder / name)
    finally:
        os.close(descriptor)
    move_spare(folder, target)


def move_spare(folder: Path, target: Path) -> None:
    """Give a filled spare its place; durable when it returns. Raises OSError where `target` is taken."""
    step("rename", target)
    folder.rename(target)
    step("renamed", target)
    sync_directory(target.parent)


def write_spare(folder: Path, name: str, record: Mapping[str, object], target: Path) -> bool:
    """Put the record as `target/name`, through the spare where that is possible.

    False, and nothing changed, where the record is there already.
    """
    try:
        fill_spare(folder, name, record, target)
    except OSError:
        return write_new(target / name, encoded(record))
    return True
