"""What is new among the episodes of the harness `directory`, at the cost of what is new.

An episode's directory appears in `episodes/` by mkdir or rename, which changes the time of `episodes/`; it ends when
its `episode.json` appears. So one look at the parent, and one at each directory that is not over, tell all that can
be news. What is written into a directory that is over is not news: the audit finds it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from spoteval.episode import Attempt
from spoteval.harness.contract import Survey
from spoteval.harness.directory import (
    DONE,
    attempt_in,
    directories,
    intended_of,
    native_of,
    state_files,
)
from spoteval.run import RunRecord
from spoteval.shape import Unreadable

MOST = 500
"""Ended episodes told at a time: what a slice takes on, and what is held in memory."""
SETTLED_NS = 2_000_000_000
_Look = tuple[int, int]


@dataclass
class DirectoryCursor:
    """Looks at one run. `is_closed(key, native id)`: it is witnessed and published, and no news any more."""

    is_closed: Callable[[str, str], bool]
    _parent: tuple[_Look, _Look] | None = None
    _open: dict[str, int] = field(default_factory=dict)
    """Directories that are not closed, with the number of their attempt."""
    _ended: dict[str, tuple[_Look, Attempt]] = field(default_factory=dict)
    _waiting: set[str] = field(default_factory=set)
    """Those that had ended at an earlier look, and are not among what was told: they are not asked for again."""
    _last: Survey = field(default_factory=Survey)

    def survey(self, run: RunRecord, work: Path, *, intended: bool, wall_ns: int) -> Survey:
        """As the adapter's own survey, without what is closed and what was set aside. `intended`: tell those too.

        The same value as long as nothing changes.
        """
        self._list(work, wall_ns)
        for name in [name for name in self._ended if self._is_over(name)]:
            self._open.pop(name, None)
            del self._ended[name]
        found = self._look(work)
        found = replace(found, state_files=state_files(work))
        if intended:
            keys = intended_of(run, work)
            if isinstance(keys, Unreadable):
                found = replace(found, unreadable=(*found.unreadable, keys.why))
            else:
                found = replace(found, intended=keys)
        if found != self._last:
            self._last = found
        return self._last

    def relist(self) -> None:
        """Look at all names again, whatever the time of their directory says."""
        self._parent = None

    def _is_over(self, name: str) -> bool:
        """Only what was told can have been published since; or it is not there any more."""
        number = self._open.get(name)
        return number is None or self.is_closed(name, native_of(name, number))

    def _list(self, work: Path, wall_ns: int) -> None:
        """The names, where they may have changed since the last look."""
        seen = (_look(work / "episodes"), _look(work / "cut"))
        if seen == self._parent:
            return
        is_settled = all(time_ns < wall_ns - SETTLED_NS for _, time_ns in seen)
        self._parent = seen if is_settled else None
        cuts = {path.name: len(directories(path)) for path in directories(work / "cut")}
        self._open, self._waiting = {}, set()
        if seen[0][0] == 0 or (work / "episodes").is_symlink():
            return
        is_closed, found = self.is_closed, self._open
        with os.scandir(work / "episodes") as entries:
            for entry in entries:
                name = entry.name
                number = 1 + cuts.get(name, 0) if cuts else 1
                if not is_closed(name, native_of(name, number)) and entry.is_dir(
                    follow_symlinks=False
                ):
                    found[name] = number

    def _look(self, work: Path) -> Survey:
        """Each open directory: is there an end, and what does it say."""
        ended, running, wrong, beyond = list[Attempt](), list[Attempt](), list[str](), 0
        top = os.fspath(work / "episodes")
        for name in sorted(self._open):
            if len(ended) >= MOST and name in self._waiting:
                beyond += 1
                continue
            number, look = self._open[name], _look(f"{top}/{name}/{DONE}")
            if look[0] == 0:
                running.append(Attempt(name, native_of(name, number), None, number))
                continue
            if len(ended) >= MOST:
                self._waiting.add(name)
                beyond += 1
                continue
            self._waiting.discard(name)
            known = self._ended.get(name)
            if known is not None and known[0] == look:
                ended.append(known[1])
                continue
            attempt = attempt_in(work / "episodes" / name, number)
            if isinstance(attempt, Unreadable):
                wrong.append(attempt.why)
            elif attempt.outcome is None:
                running.append(attempt)
            else:
                self._ended[name] = (look, attempt)
                ended.append(attempt)
        return Survey(
            attempts=tuple(ended), in_flight=tuple(running), unreadable=tuple(wrong), beyond=beyond
        )


def _look(path: str | Path) -> _Look:
    """Inode and time; zeros where there is nothing."""
    try:
        found = os.lstat(path)
    except OSError:
        return 0, 0
    return found.st_ino, found.st_mtime_ns
