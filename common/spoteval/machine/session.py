"""Which life of the machine this is: the session."""

import os
from dataclasses import dataclass
from pathlib import Path

from spoteval.files import read_record, remove, write_new_record
from spoteval.shape import ShapeError, Table


@dataclass(frozen=True, slots=True)
class Session:
    """One life: a random kept in /run, good while boot id and the start of PID 1 are what they were.

    A container's boot id is its host's, so the boot id alone does not tell two lives apart.
    """

    id: str
    boot: str
    pid1_start: int


def this_session(path: Path, boot: str) -> Session:
    """The session of this life, made by whoever asks first."""
    pid1 = _pid1_start()
    found = read_record(path)
    known = _session(found) if isinstance(found, Table) else None
    same = known is not None and known.pid1_start == pid1
    if known is not None and same and (known.boot == boot or _younger_than_pid1(path, pid1)):
        return known
    if found is not None:
        remove(path)
    return _made(path, boot, pid1)


def _made(path: Path, boot: str, pid1: int) -> Session:
    fresh = Session(os.urandom(4).hex(), boot, pid1)
    if write_new_record(path, {"id": fresh.id, "boot": boot, "pid1_start": pid1}):
        return fresh
    return this_session(path, boot)


def _session(table: Table) -> Session | None:
    try:
        return Session(table.text("id"), table.text("boot"), table.whole("pid1_start"))
    except ShapeError:
        return None


def _younger_than_pid1(path: Path, pid1_start: int) -> bool:
    """Whether a file was written in this life, for two boot ids may be two views of one.

    nspawn and LXC lay a boot id of their own over the kernel's, and the sandbox of a unit brings the kernel's back:
    the agents and a person's shell disagree. The moment of the kernel's boot (whole seconds) is the same for both.
    """
    lines = (line.split() for line in Path("/proc/stat").read_text().splitlines())
    booted_s = next(int(words[1]) for words in lines if words[0] == "btime")
    return path.stat().st_mtime >= booted_s + pid1_start / os.sysconf("SC_CLK_TCK")


def _pid1_start() -> int:
    """Field 22 of /proc/1/stat: clock ticks after boot, so a container restarted on one boot differs."""
    return int(Path("/proc/1/stat").read_text().rpartition(")")[2].split()[19])
