"""machine.cgroup: who belongs to a unit, and emptying it."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spoteval.clock import Now
from spoteval.machine import cgroup, process
from spoteval.machine.cgroup import MarkedProcesses, UnitCgroup
from spoteval.shape import Reading, Unreadable

RUN = "spoteval-run.service"


def group(directory: Path, pids: str) -> None:
    """A control group as the kernel shows it."""
    directory.mkdir(parents=True)
    (directory / "cgroup.procs").write_text(pids)


@pytest.mark.parametrize("layout", ["unified", "hybrid"])
def test_members_of_a_group_and_of_those_below(tmp_path: Path, layout: str) -> None:
    """Both layouts; a harness may have made groups of its own below the unit's."""
    if layout == "unified":
        (tmp_path / "cgroup.controllers").write_text("cpu\n")
    top = tmp_path if layout == "unified" else tmp_path / "systemd"
    group(top / "system.slice" / RUN, "12\n13\n")
    group(top / "system.slice" / RUN / "below", "14\n")
    assert UnitCgroup(tmp_path).members(RUN) == frozenset([12, 13, 14])


def test_a_unit_without_group_has_no_members(tmp_path: Path) -> None:
    """systemd removes the group of a unit that does not run."""
    (tmp_path / "systemd" / "system.slice").mkdir(parents=True)
    assert UnitCgroup(tmp_path).members(RUN) == frozenset()


def test_no_control_groups_at_all_is_unreadable(tmp_path: Path) -> None:
    """Where nobody can know, nobody says empty."""
    assert isinstance(UnitCgroup(tmp_path).members(RUN), Unreadable)


def environ(proc: Path, pid: int, *entries: str) -> None:
    """A process with this environment."""
    (proc / str(pid)).mkdir(parents=True)
    (proc / str(pid) / "environ").write_bytes(b"".join(e.encode() + b"\0" for e in entries))


def test_marked_processes_are_told_by_the_whole_entry(tmp_path: Path) -> None:
    """Neither another root, nor a longer name, nor the mark inside another value counts."""
    root = Path("/n")
    environ(tmp_path, 1, "A=b", f"SPOTEVAL_UNIT=/n:{RUN}")
    environ(tmp_path, 2, f"SPOTEVAL_UNIT=/n:{RUN}")
    environ(tmp_path, 3, f"SPOTEVAL_UNIT=/n2:{RUN}")
    environ(tmp_path, 4, f"SPOTEVAL_UNIT=/n:{RUN}x")
    environ(tmp_path, 5, f"X=SPOTEVAL_UNIT=/n:{RUN}")
    environ(tmp_path, 6, "SPOTEVAL_UNIT=/n:other.service")
    environ(tmp_path, 7)
    (tmp_path / "8").mkdir()
    (tmp_path / "self").mkdir()
    marked = MarkedProcesses(root, tmp_path)
    assert marked.members(RUN) == frozenset([1, 2])
    assert marked.all_members() == frozenset([1, 2, 4, 6])


@dataclass
class MidExec:
    """A process in the middle of an exec: so many looks find its environment empty, though it has a program."""

    environ: Path
    entry: bytes
    empty_looks: int

    def begin(self, parent: int) -> None:
        self.environ.parent.mkdir()
        (self.environ.parent / "exe").touch()
        (self.environ.parent / "stat").write_text(f"9 (a ) name) S {parent} 9 9 0")
        self.environ.touch()

    def pause(self, _seconds: float) -> None:
        self.empty_looks -= 1
        if self.empty_looks == 0:
            self.environ.write_bytes(self.entry + b"\0")


MEMBER, OTHER = 3, 4


@pytest.mark.parametrize(
    ("empty_looks", "parent", "found"),
    [
        (1, OTHER, True),  # its environment is back at the next look
        (19, OTHER, True),
        (999, MEMBER, True),  # never back: what a member began is one
        (999, OTHER, False),
        (999, 99, False),  # its parent is gone
    ],
)
def test_a_process_in_the_middle_of_an_exec_is_a_member(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    empty_looks: int,
    parent: int,
    found: bool,
) -> None:
    """Taken for gone, its run would be taken for gone, and resumed beside it."""
    entry = f"SPOTEVAL_UNIT=/n:{RUN}"
    environ(tmp_path, MEMBER, entry)
    environ(tmp_path, OTHER, "A=b")
    process_9 = MidExec(tmp_path / "9" / "environ", entry.encode(), empty_looks)
    process_9.begin(parent)
    monkeypatch.setattr(cgroup, "sleep", process_9.pause)
    members = frozenset([MEMBER, 9] if found else [MEMBER])
    assert MarkedProcesses(Path("/n"), tmp_path).members(RUN) == members


def test_a_proc_that_cannot_be_listed_is_unreadable(tmp_path: Path) -> None:
    """Not the same as nobody there."""
    assert isinstance(MarkedProcesses(Path("/n"), tmp_path / "none").members(RUN), Unreadable)


def test_members_here_follows_our_own_mark() -> None:
    """On a local node the neighbours are marked with the same root; elsewhere they are groups."""
    marked = cgroup.members_here({"SPOTEVAL_UNIT": "/a:b/node:spoteval-shutdown-hook.service"})
    assert marked == MarkedProcesses(Path("/a:b/node"))
    assert cgroup.members_here({}) == UnitCgroup()


@dataclass
class World:
    """A unit whose members, look by look, are scripted, and a clock that moves by the pauses."""

    looks: Iterator[Reading[frozenset[int]]]
    now_s: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def members(self, unit: str) -> Reading[frozenset[int]]:
        return next(self.looks)

    def clock(self) -> Now:
        return Now(datetime(2026, 12, 1, tzinfo=UTC), self.now_s, "boot")

    def pause(self, seconds: float) -> None:
        self.now_s += seconds
        self.pauses.append(seconds)

    def emptied(self, within_s: float) -> Reading[bool]:
        return cgroup.emptied(self, RUN, signal.SIGTERM, within_s, self.clock, self.pause)


def looks(*first: Reading[frozenset[int]]) -> Iterator[Reading[frozenset[int]]]:
    """These, then empty for ever."""
    yield from first
    while True:
        yield frozenset()


def test_one_empty_look_is_not_enough() -> None:
    """A member that appears between two looks (a fork) restarts the half second."""
    gone = 2**22 + 1
    world = World(looks(frozenset(), frozenset([gone]), frozenset()))
    assert world.emptied(10) is True
    assert world.now_s >= cgroup.SEEN_EMPTY_AGAIN_S + 0.1


@pytest.mark.parametrize(("within_s", "empty"), [(0.45, False), (0.65, True)])
def test_the_deadline_bounds_the_looks(within_s: float, empty: bool) -> None:
    """Empty but not yet twice is not yet emptied."""
    assert World(looks()).emptied(within_s) is empty


def test_the_own_process_does_not_count() -> None:
    """Who empties its own unit is not waited for."""
    world = World(looks(*[frozenset([os.getpid()])] * 50))
    assert world.emptied(2) is True


def test_unreadable_members_end_the_attempt() -> None:
    """Nobody claims emptiness that nobody saw."""
    assert World(looks(Unreadable("x"))).emptied(2) == Unreadable("x")


@pytest.mark.runs("starts a process that ignores TERM")
def test_term_then_kill_empties_a_marked_unit(tmp_path: Path) -> None:
    """A child of a child that ignores TERM still falls to KILL."""
    entry = cgroup.mark(tmp_path, RUN).partition("=")
    env = {"PATH": os.environ["PATH"], entry[0]: entry[2]}
    script = "trap '' TERM; (sleep 60; true) & echo up; wait; sleep 60"
    child = process.spawn(["sh", "-c", script], env, output_pipe=True)
    assert child.stdout is not None
    child.stdout.readline()
    marked = MarkedProcesses(tmp_path)
    assert cgroup.emptied(marked, RUN, signal.SIGTERM, 0.3) is False
    assert cgroup.emptied(marked, RUN, signal.SIGKILL, 10) is True
    assert child.wait(10) == -signal.SIGKILL
    child.stdout.close()
