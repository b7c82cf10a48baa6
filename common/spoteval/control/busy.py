"""Busy files: an agent at work touches its own, in the name of its session, and the machine counts as used."""

from pathlib import Path

from spoteval.clock import Now
from spoteval.files import read_text, touch, write_whole
from spoteval.paths import DurablePaths
from spoteval.shape import Reading, Unreadable

FRESH_S = 600.0
"""A file that nobody touched for so long says nothing: its agent died."""


def show_work(disk: DurablePaths, agent: str, session: str) -> None:
    """Say that the agent is at work now. Raises OSError."""
    path = disk.busy / agent
    if read_text(path) == session:
        touch(path)
    else:
        write_whole(path, session.encode())


def working(disk: DurablePaths, session: str, now: Now) -> Reading[tuple[str, ...]]:
    """The agents of this session that said so within FRESH_S, by name; one whose word is unreadable is at work."""
    try:
        paths = sorted(path for path in disk.busy.iterdir() if not path.name.startswith("."))
    except FileNotFoundError:
        return ()
    except OSError as error:
        return Unreadable(f"{disk.busy}: {error.strerror}")
    return tuple(path.name for path in paths if _is_fresh(path, session, now))


def _is_fresh(path: Path, session: str, now: Now) -> bool:
    """An empty file is anybody's. A time in the future is a clock that was set back since: at work, it is soon touched
    again; else it would keep the machine on until the clock has come round."""
    text = read_text(path)
    if text is None or (isinstance(text, str) and text not in ("", session)):
        return False
    try:
        age_s = now.wall.timestamp() - path.stat().st_mtime
    except OSError:
        return True
    return abs(age_s) <= FRESH_S
