"""What episodes say about themselves: one line at their begin, one at their true end."""

import os
from pathlib import Path

from spoteval.clock import read_now, stamp


def path() -> Path | None:
    """The file, from SPOTEVAL_WITNESS; None where nobody asked for witness."""
    name = os.environ.get("SPOTEVAL_WITNESS")
    return Path(name) if name else None


def write(word: str, sample: str | int, epoch: int) -> None:
    """Append `word sample epoch pid time` in one write, which no other writer's line can split.

    Not synced: it has to outlive the process, as what it is held against does, not the machine.
    """
    target = path()
    if target is None:
        return
    line = f"{word} {sample} {epoch} {os.getpid()} {stamp(read_now().wall)}\n"
    descriptor = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)
