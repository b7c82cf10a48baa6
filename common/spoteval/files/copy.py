"""Copies of files of any size: in slices, and given up when there is no time left."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG

from spoteval.files.owner import give_to_owner, make_folder
from spoteval.files.step import step
from spoteval.files.whole import sync_directory

_SLICE_BYTES = 1 << 20


def copy_file(source: Path, target: Path, go_on: Callable[[], bool]) -> bool:
    """Copy `source` to `target`, durable when it returns True; `target` is whole or absent.

    `go_on` is asked before each slice of 1 MiB; once it says no, nothing is left behind and the answer is False.
    Raises OSError (the source is gone, the disk is full).
    """
    make_folder(target.parent)
    temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
    step("write", target)
    try:
        if not _copied(source, temporary, go_on):
            return False
        step("rename", target)
        temporary.replace(target)
        step("renamed", target)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(target.parent)
    return True


def _copied(source: Path, temporary: Path, go_on: Callable[[], bool]) -> bool:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    reader = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not S_ISREG(os.fstat(reader).st_mode):  # a pipe would be waited for
            raise OSError(errno.EINVAL, "not a plain file", str(source))
        writer = os.open(temporary, flags, 0o644)
        try:
            give_to_owner(writer, temporary.parent)
            return _poured(reader, writer, go_on)
        finally:
            os.close(writer)
    finally:
        os.close(reader)


def _poured(reader: int, writer: int, go_on: Callable[[], bool]) -> bool:
    while go_on():
        if os.sendfile(writer, reader, None, _SLICE_BYTES) == 0:
            os.fsync(writer)
            return True
    return False
