"""Reading the machine: nothing here changes anything."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from spoteval.clock import Mark, Now, elapsed_s
from spoteval.config.guest import GuestConfig
from spoteval.control import stopping
from spoteval.control.acknowledged import publishing
from spoteval.control.busy import working
from spoteval.control.completeness import Completeness
from spoteval.control.disk import prove
from spoteval.control.enders import Ender
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.control.runfiles import active_run
from spoteval.files import read_text
from spoteval.machine.cgroup import Members
from spoteval.machine.login import INHIBITORS, SESSIONS, inhibitors, logged_in
from spoteval.paths import DurablePaths, HostPaths
from spoteval.shape import Reading, Unreadable
from spoteval_agents.idle_guard.samples import Sampler
from spoteval_agents.idle_guard.seen import Keep, Seen


@dataclass(slots=True)
class Probes:
    """What is looked at, and what the last look at the run's own directory saw."""

    config: GuestConfig
    host: HostPaths
    session: str
    members: Members
    sampler: Sampler = field(default_factory=Sampler)
    sessions: Path = SESSIONS
    inhibitors: Path = INHIBITORS
    _count: Completeness = field(default_factory=Completeness, init=False)
    _work: tuple[Path, int, int] | None = field(default=None, init=False)

    def disk(self) -> Reading[DurablePaths]:
        """The durable disk, where it has proved itself now."""
        proof = prove(self.config)
        return proof if isinstance(proof, Unreadable) else proof.paths

    def places(self, disk: Reading[DurablePaths]) -> tuple[Path, ...]:
        """Where intents lie: the disk, and /run, which also serves without one."""
        here = self.host.run / "enders"
        return (here,) if isinstance(disk, Unreadable) else (disk.enders, here)

    def look(
        self, disk: Reading[DurablePaths], now: Now, work: str | None, failed: str | None
    ) -> Seen:
        """The world of this cycle. Without a disk there is no run on it, and no keep-alive."""
        pids = self.members.members(RUN_UNIT)
        shares = self.sampler.shares(now)
        seen = Seen(
            session=self.session,
            members=pids if isinstance(pids, Unreadable) else len(pids),
            cpu=shares.cpu,
            disk_io=shares.disk_io,
            network=shares.network,
            draining=self.host.draining.exists(),
            logins=logged_in(self.sessions) if self.config.idle.logins_count else (),
            inhibitors=inhibitors(self.inhibitors),
            intents=self._intents(disk),
            work=work,
            failed=failed,
        )
        if isinstance(disk, Unreadable):
            return replace(seen, disk=disk.why)
        busy = working(disk, self.session, now)
        return replace(
            seen,
            complete=self._complete(disk) if busy else False,
            guest_hold=read_text(disk.guest_hold),
            busy=busy,
            publishing=publishing(disk, self.session, now),
            keep_alive=_keep_alive(disk.keep_alive, now),
        )

    def logs(self, disk: Reading[DurablePaths]) -> Reading[str | None]:
        """What changed in the active run's own directory since this was asked last.

        Every file is looked at, so it is asked only where nothing else is in use.
        """
        name = active_run(disk) if isinstance(disk, DurablePaths) else None
        if not isinstance(name, str) or isinstance(disk, Unreadable):
            return name
        try:
            size, newest = _tree(disk.run(name).work)
        except OSError as error:
            return Unreadable(f"{error.filename}: {error.strerror}")
        before, self._work = self._work, (disk.run(name).work, size, newest)
        if before is None or before[0] != disk.run(name).work or before == self._work:
            return None
        grown = size - before[1]
        return f"episode logs grew by {grown} bytes" if grown > 0 else "episode logs changed"

    def _complete(self, disk: DurablePaths) -> Reading[bool]:
        """Whether nothing is left to resume: no active run, or one that is over."""
        name = active_run(disk)
        if isinstance(name, Unreadable):
            return name
        if name is None or disk.run(name).end.exists():
            return True
        found = self._count.look(disk.run(name))
        return found if isinstance(found, Unreadable) else found.complete

    def _intents(self, disk: Reading[DurablePaths]) -> Reading[tuple[Ender, ...]]:
        """Of the disk as far as it can be read: what it hides must not keep the machine on for ever."""
        places = self.places(disk)
        found = stopping.intents(places)
        return stopping.intents(places[-1:]) if isinstance(found, Unreadable) else found


def _keep_alive(path: Path, now: Now) -> Reading[Keep | None]:
    """The file's own time is a wall clock's."""
    text = read_text(path)
    if not isinstance(text, str):
        return text
    try:
        wall = now.wall.fromtimestamp(path.stat().st_mtime, now.wall.tzinfo)
    except (OSError, ValueError, OverflowError):  # a damaged disk knows years that no calendar does
        return Keep(text)
    return Keep(text, elapsed_s(Mark(wall, 0.0, "file"), now))


def _tree(root: Path) -> tuple[int, int]:
    """Bytes in all files below, and the newest time among them. Raises OSError."""
    size = newest = 0
    for entry in _entries(str(root)):
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        size, newest = size + found.st_size, max(newest, found.st_mtime_ns)
    return size, newest


def _entries(root: str) -> Iterator["os.DirEntry[str]"]:
    """Every file below; none where the folder is absent."""
    folders = [root]
    while folders:
        try:
            entries = os.scandir(folders.pop())
        except FileNotFoundError:
            continue
        with entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    yield entry
