"""Which files of a run's directory are ours to publish, and in which manner."""

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
    for top in sorted(run_dir.iterdir()) if run_dir.is_dir() else ():
        below = (
            sorted(top.rglob("*")) if top.is_dir() and top.name not in ("work", "epochs") else ()
        )
        for path in (top, *below):
            name = path.relative_to(run_dir).as_posix()
            if manner_of(name) is not None and path.is_file():
                yield name
