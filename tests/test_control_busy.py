"""control.busy: agents at work, in the name of their session."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spoteval.clock import Now
from spoteval.control.busy import FRESH_S, show_work, working
from spoteval.paths import DurablePaths
from spoteval.shape import Unreadable

WALL = datetime(2026, 12, 1, 3, tzinfo=UTC)
NOW = Now(WALL, 1000.0, "boot")


def aged(path: Path, age_s: float) -> None:
    """Touched so many seconds before NOW."""
    at = (WALL - timedelta(seconds=age_s)).timestamp()
    os.utime(path, (at, at))


@pytest.mark.parametrize(
    ("age_s", "fresh"),
    [(0, True), (FRESH_S, True), (FRESH_S + 1, False), (-FRESH_S, True), (-FRESH_S - 1, False)],
)
def test_ten_minutes_and_no_longer(tmp_path: Path, age_s: float, fresh: bool) -> None:
    """Nor where the clock was set back since: a file of next year keeps no machine on until then."""
    disk = DurablePaths(tmp_path)
    show_work(disk, "boot-resume", "5e55")
    aged(disk.busy / "boot-resume", age_s)
    assert working(disk, "5e55", NOW) == (("boot-resume",) if fresh else ())


def test_another_session_says_nothing_and_a_bare_touch_does(tmp_path: Path) -> None:
    """What a machine that is gone was doing keeps no machine on."""
    disk = DurablePaths(tmp_path)
    assert working(disk, "5e55", NOW) == ()
    show_work(disk, "end-handler", "0ld")
    (disk.busy / "backup").touch()
    for name in ("end-handler", "backup"):
        aged(disk.busy / name, 1)
    assert working(disk, "5e55", NOW) == ("backup",)


def test_work_is_shown_again_and_again(tmp_path: Path) -> None:
    """A new session takes the file over; the same one only touches it."""
    disk = DurablePaths(tmp_path)
    show_work(disk, "a", "0ld")
    show_work(disk, "a", "5e55")
    inode = (disk.busy / "a").stat().st_ino
    aged(disk.busy / "a", 3600)
    show_work(disk, "a", "5e55")
    assert (disk.busy / "a").stat().st_ino == inode
    assert (disk.busy / "a").stat().st_mtime > (WALL - timedelta(hours=1)).timestamp()


def test_what_cannot_be_listed_is_unreadable(tmp_path: Path) -> None:
    """Not the same as nobody at work."""
    disk = DurablePaths(tmp_path)
    disk.root.mkdir()
    disk.busy.write_text("")
    assert isinstance(working(disk, "5e55", NOW), Unreadable)
