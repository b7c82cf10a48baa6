"""Whether an episode has begun since the run was started, from few bytes: who watches a start loads no log reader."""

from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path

_BUFFERS = Path("home/.local/share/inspect_ai/samplebuffer")
# A sample's row is the first JSON with this key in a buffer; Inspect writes it as the sample begins, and the schema,
# which is there a second earlier, does not hold it.
_ROW = b'"epoch":'
_HEAD_BYTES = 4_000_000


def begun(name: str, work: Path, pids: Collection[int], since: datetime) -> bool:
    """Whether a process of the run (`pids`), started at `since`, has begun an episode. Raises OSError.

    False while nothing tells; then the first finished episode will.
    """
    if name == "inspect":
        fresh = (path for path in _buffers(work / _BUFFERS, pids) if _is_fresh(path, since))
        return any(_ROW in _head(path) for path in fresh)
    return any(_is_fresh(path, since) for path in _below(work / "episodes"))


def _is_fresh(path: Path, since: datetime) -> bool:
    """A pid may have been another process's in an earlier life."""
    try:
        return path.stat().st_mtime >= since.timestamp()
    except FileNotFoundError:  # SQLite removes its log when it closes
        return False


def _buffers(folder: Path, pids: Collection[int]) -> Iterator[Path]:
    """The buffers of these processes, which carry their pid, with the writes that SQLite has not moved into them."""
    for pid in pids:
        yield from folder.glob(f"*/*.{pid}.db")
        yield from folder.glob(f"*/*.{pid}.db-wal")


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except FileNotFoundError:
        return b""


def _below(folder: Path) -> Iterator[Path]:
    return folder.iterdir() if folder.is_dir() else iter(())
