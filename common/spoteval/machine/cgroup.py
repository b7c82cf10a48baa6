"""The processes of a unit: by its control group, or by a mark in the environment on a local node."""

import errno
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Protocol

from spoteval.clock import Now, read_now
from spoteval.machine import process
from spoteval.shape import Reading, Unreadable

MARK = "SPOTEVAL_UNIT"
SEEN_EMPTY_AGAIN_S = 0.5  # a process between fork and the listing is missed once, not twice
_LOOK_EVERY_S = 0.05
_LOOKS, _LOOK_AGAIN_S = 20, 0.002


class Members(Protocol):
    """Who belongs to a unit now."""

    def members(self, unit: str) -> Reading[frozenset[int]]:
        """The pids of the unit's living processes; none where it does not run."""
        ...


@dataclass(frozen=True, slots=True)
class UnitCgroup:
    """The control groups of systemd: v2, or v1 and hybrid, where systemd keeps a tree of its own."""

    root: Path = Path("/sys/fs/cgroup")

    def members(self, unit: str) -> Reading[frozenset[int]]:
        """The processes of the unit's group and of the groups below it."""
        unified = (self.root / "cgroup.controllers").exists()
        system = (self.root if unified else self.root / "systemd") / "system.slice"
        if not system.is_dir():
            return Unreadable(f"{system}: no control groups of systemd here")
        try:
            return _pids_below(system / unit)
        except OSError as error:
            return Unreadable(f"{system / unit}: {error.strerror}")


@dataclass(frozen=True, slots=True)
class MarkedProcesses:
    """Processes that inherited `SPOTEVAL_UNIT=<root>:<unit>`: what a local node has for control groups."""

    root: Path
    proc: Path = Path("/proc")

    def members(self, unit: str) -> Reading[frozenset[int]]:
        """The processes started by the unit of this root, wherever they hang in the tree."""
        return self._with(mark(self.root, unit).encode() + b"\0")

    def all_members(self) -> Reading[frozenset[int]]:
        """The processes of all units of this root."""
        return self._with(mark(self.root, "").encode())

    def _with(self, entry: bytes) -> Reading[frozenset[int]]:
        try:
            names = [path.name for path in self.proc.iterdir()]
        except OSError as error:
            return Unreadable(f"{self.proc}: {error.strerror}")
        wanted = b"\0" + entry
        return frozenset(int(name) for name in names if name.isdigit() and self._has(name, wanted))

    def _has(self, pid: str, wanted: bytes) -> bool:
        """Other users' processes cannot be read, and are not ours; a zombie's environment is empty.

        One without environment, and not a zombie, is what its parent is: as it would be with control groups.
        """
        try:
            if found := self._environ(pid):
                return wanted in b"\0" + found
            parent = process.parent(int(pid), self.proc) if self._has_program(pid) else 0
            return not isinstance(parent, Unreadable) and self._has(str(parent), wanted)
        except OSError:
            return False

    def _environ(self, pid: str) -> bytes:
        """In the middle of an exec the environment reads as empty for a moment: such a process is looked at again."""
        for _ in range(_LOOKS):
            found = (self.proc / pid / "environ").read_bytes()
            if found or not self._has_program(pid):
                return found
            sleep(_LOOK_AGAIN_S)
        return found

    def _has_program(self, pid: str) -> bool:
        return (self.proc / pid / "exe").exists()


def members_here(environ: Mapping[str, str] = os.environ) -> Members:
    """The members of the units beside us: marked processes where we are marked ourselves."""
    root, _, _ = environ.get(MARK, "").rpartition(":")
    return MarkedProcesses(Path(root)) if root else UnitCgroup()


def mark(root: Path, unit: str) -> str:
    """The entry of the environment that marks a unit's processes."""
    return f"{MARK}={root}:{unit}"


def emptied(
    members: Members,
    unit: str,
    signum: int,
    within_s: float,
    clock: Callable[[], Now] = read_now,
    pause: Callable[[float], None] = sleep,
) -> Reading[bool]:
    """Signal each process of the unit once, as it is seen, until two looks half a second apart see none.

    False where some still live after `within_s`; with 0 they get the signal, and one look follows.
    The own process is neither signalled nor counted.
    """
    began, empty_since, told = clock().mono_s, None, frozenset[int]()
    while True:
        found = _others(members.members(unit))
        if isinstance(found, Unreadable):
            return found
        told |= _told(found - told, signum)
        now_s = clock().mono_s
        empty_since = None if found else (now_s if empty_since is None else empty_since)
        if empty_since is not None and now_s - empty_since >= SEEN_EMPTY_AGAIN_S:
            return True
        if now_s - began >= within_s:
            return False
        pause(_LOOK_EVERY_S)


def _told(pids: frozenset[int], signum: int) -> frozenset[int]:
    """Who needs no second signal. One that may not be signalled is told again, and keeps the unit not empty."""
    try:
        return process.send(pids, signum)
    except PermissionError:
        return frozenset()


def _others(found: Reading[frozenset[int]]) -> Reading[frozenset[int]]:
    return found if isinstance(found, Unreadable) else found - {os.getpid()}


def _pids_below(group: Path) -> frozenset[int]:
    found = frozenset[int]()
    for directory, _, _ in os.walk(group, onerror=_unless_gone):
        found |= _pids(Path(directory) / "cgroup.procs")
    return found


def _pids(listing: Path) -> frozenset[int]:
    try:
        return frozenset(int(pid) for pid in listing.read_text().split())
    except OSError as error:
        _unless_gone(error)
        return frozenset()


def _unless_gone(error: OSError) -> None:
    """A group that ended while we looked has no processes: ENOENT, or ENODEV for an open listing."""
    if error.errno not in (errno.ENOENT, errno.ENODEV):
        raise error
