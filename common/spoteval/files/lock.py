"""Single instance by flock; the kernel releases it with the process, so nothing is ever stale."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spoteval.files.owner import give_to_owner, make_folder

_MODE = 0o600


class Taken(RuntimeError):
    """Another process holds the lock."""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path` for the block; raises Taken at once where another process holds it.

    Nobody but its owner may open it: who can read a file can lock it, and keep an agent from starting.
    """
    make_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
    try:
        os.fchmod(descriptor, _MODE)
        give_to_owner(descriptor, path.parent)
        _lock(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether some process holds the lock on `path` now."""
    try:
        with held(path):
            return False
    except Taken:
        return True


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Taken(f"{path}: another process holds it (is it running twice?)") from error
