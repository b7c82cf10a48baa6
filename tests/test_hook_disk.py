"""shutdown_hook on a disk that takes nothing, and beside a run or a follower that does not answer."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash_points import CrashPoints
from hook_world import GONE, Guest
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.control.runfiles import interruptions
from spoteval.shape import Reading
from spoteval_agents.shutdown_hook.stages import FOLLOWER_UNIT

MOMENT = "2026-12-01T02-58-11-000-5e55"
ALL = ["draining", "boot-resume", "SIGTERM", "kill", "salvage", "final-pass"]
BOTH = pytest.mark.parametrize("by_notice", [True, False])


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """A guest with the active run `swe`, whose notice window is 60 s."""
    return Guest(tmp_path)


def names(guest: Guest) -> list[str]:
    """The steps that were taken, in order."""
    return [step.name for step in guest.steps]


def went(guest: Guest, name: str) -> tuple[bool, str]:
    """How a step went."""
    (found,) = [step for step in guest.steps if step.name == name]
    return found.ok, found.detail


@BOTH
def test_a_full_disk_still_takes_the_marker(
    guest: Guest, crash_points: CrashPoints, by_notice: bool
) -> None:
    """Its bytes lie there already; the run is stopped, and what cannot be kept is in the journal."""
    if by_notice:
        guest.announce()
    hook = guest.hook()  # lays the space
    name = f"{MOMENT}-{'notice' if by_notice else 'shutdown'}"
    marker = ("/spare/opened.json", f"/{name}")
    with crash_points.failing(errno.ENOSPC, guest.durable.disk, marker):
        guest.cycle(hook, terminated=not by_notice)
    assert set(ALL) <= set(names(guest))
    assert guest.host.draining.exists()
    assert went(guest, "kill")[0]
    (item,) = interruptions(guest.run).values()
    assert (item.opened.id, item.closed) == (name, None)
    assert "decision=interrupt" in guest.said[-1]


@BOTH
def test_a_read_only_disk_stops_no_step(
    guest: Guest, crash_points: CrashPoints, by_notice: bool
) -> None:
    """Not even a marker: the run is stopped all the same, and the next boot sees that a life left without a word."""
    if by_notice:
        guest.announce()
    hook = guest.hook()
    with crash_points.failing(errno.EROFS, guest.durable.disk):
        guest.cycle(hook, terminated=not by_notice)
    assert set(ALL) <= set(names(guest))
    assert not went(guest, "marker")[0]
    assert "Read-only file system" in went(guest, "marker")[1]
    assert guest.host.draining.exists()
    assert went(guest, "kill")[0]
    assert interruptions(guest.run) == {}
    assert "decision=interrupt" in guest.said[-1]


def test_a_dead_follower_is_not_waited_for(guest: Guest) -> None:
    """Nobody would answer: the time of the final pass is given back."""
    guest.units.scripts[FOLLOWER_UNIT] = iter([frozenset[int]()])
    guest.announce()
    guest.cycle(guest.hook())
    assert went(guest, "final-pass") == (False, "Failed: the publication follower does not run")
    assert guest.clock.at_s < 1002
    (item,) = interruptions(guest.run).values()
    assert item.closed is not None


def test_a_run_that_nothing_ends_takes_only_its_own_time(guest: Guest) -> None:
    """In the kernel's hands, where KILL does not reach: said, and the copies and the final pass come in time."""

    def hung() -> Iterator[Reading[frozenset[int]]]:
        while True:
            yield frozenset([GONE])

    guest.units.scripts[RUN_UNIT] = hung()
    guest.announce()
    guest.cycle(guest.hook())
    assert went(guest, "kill") == (False, "Failed: 1 killed, not seen empty twice")
    assert names(guest)[-5:] == ["salvage", "final-pass", "cause", "event", "close"]
    assert guest.clock.at_s <= 1000 + 25.1
    (item,) = interruptions(guest.run).values()
    assert item.closed is not None
    assert item.closed.killed == 1
