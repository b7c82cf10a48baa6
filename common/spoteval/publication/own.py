"""Which files of a run's directory are ours to publish, and in which manner."""

import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path


class Manner(StrEnum):
    """How a file is published."""

    RECORD = "record"
    """The run record: one object a generation."""
    ONCE = "once"
    """Never rewritten: one object."""
    LOG = "log"
    """Appended: segments."""
    STATE = "state"
    """Changes in place: whole, a generation each time."""


def manner_of(name: str) -> Manner | None:
    """The manner of a file by its path in the run's directory; None for what somebody else puts, or nobody.

    Epochs are put by whoever claims them, and of the harness's directory its adapter says what is published.
    """
    parts = name.split("/")
    if parts[0] in ("work", "epochs") or is_temporary(parts[-1]):
        return None
    if parts[0] == "interruptions":
        return None if len(parts) < 3 or parts[1].startswith(".") else Manner.ONCE
    if name in ("run.json", "end.json"):
        return Manner.RECORD if name == "run.json" else Manner.ONCE
    return Manner.LOG if len(parts) == 1 and name.endswith(".jsonl") else Manner.STATE


def is_temporary(name: str) -> bool:
    """Whether a file of this name is half of a write."""
    return name.startswith(".") and name.endswith(".tmp")


def own_names(run_dir: Path) -> Iterator[str]:
    """Paths in a run's directory that are ours to publish, sorted. The harness's directory is not entered."""
    for top in _entries(run_dir):
        if not top.is_dir():
            names = [top.name] if top.is_file() else []
        elif top.name in ("work", "epochs"):
            continue
        else:
            below = (path for path in sorted(Path(top.path).rglob("*")) if path.is_file())
            names = [path.relative_to(run_dir).as_posix() for path in below]
        yield from (name for name in names if manner_of(name) is not None)


def _entries(folder: Path) -> list["os.DirEntry[str]"]:
    """Most are files: what the listing says of them is not asked once more."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
