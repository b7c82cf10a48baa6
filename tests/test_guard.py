"""The guard and the crash points of conftest.py hold what they promise."""

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from crash_points import EVENT, Crash, CrashPoints
from guard import Guard, Undeclared, forbidden


def test_undeclared_subprocess_is_refused(guard: Guard) -> None:
    """A process that the test did not declare is not started."""
    with pytest.raises(Undeclared, match="starts a process"):
        subprocess.run(["true"], check=True)
    assert guard.take()


def test_undeclared_spawn_and_fork_are_refused(guard: Guard) -> None:
    """Also below the subprocess module."""
    with pytest.raises(Undeclared):
        os.posix_spawn("/bin/true", ["true"], {})
    with pytest.raises(Undeclared):
        os.fork()
    assert len(guard.take()) == 2


def test_undeclared_sleep_is_refused(guard: Guard) -> None:
    """A test that waits says so."""
    with pytest.raises(Undeclared, match=r"sleeps 0\.01 s"):
        time.sleep(0.01)
    assert guard.take()


def test_undeclared_lookup_is_refused(guard: Guard) -> None:
    """A name that is not of this machine is not looked up."""
    with pytest.raises(Undeclared, match="asks the resolver"):
        socket.getaddrinfo("example.invalid", 80)
    assert guard.take()


@pytest.mark.parametrize("host", [None, "", "localhost", "127.0.0.1", "::1", "10.0.0.1", b"::1"])
def test_loopback_and_addresses_are_no_lookups(host: object) -> None:
    """What needs no packet is allowed."""
    assert forbidden("socket.getaddrinfo", (host, 80, 0, 0, 0)) is None


def test_a_swallowed_violation_still_counts(guard: Guard) -> None:
    """`except Exception` does not catch it, and a thread's violation is kept for the teardown."""
    thread = threading.Thread(target=_sleep_quietly)
    thread.start()
    thread.join()
    assert guard.take() == ["sleeps 0.01 s"]


def _sleep_quietly() -> None:
    try:
        time.sleep(0.01)
    except Undeclared:
        return


@pytest.mark.runs("the declared case itself")
def test_a_declared_process_runs() -> None:
    """The mark lifts the guard for its test."""
    assert subprocess.run([sys.executable, "-c", ""], check=False).returncode == 0


@pytest.mark.runs("starts pytest on a file that breaks the rule")
def test_the_guard_fails_a_real_test(tmp_path: Path) -> None:
    """In a run of its own, an undeclared sleep in a thread turns a passing test into a failure."""
    here = Path(__file__).parent
    for name in ("conftest.py", "guard.py", "crash_points.py", "s3_fixtures.py"):
        (tmp_path / name).write_text((here / name).read_text())
    (tmp_path / "test_sleepy.py").write_text(
        "import threading, time\n"
        "def nap():\n"
        "    try: time.sleep(0)\n"
        "    except BaseException: pass\n"
        "def test_sleepy():\n"
        "    t = threading.Thread(target=nap); t.start(); t.join()\n"
    )
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "undeclared: sleeps 0 s" in done.stdout


def _two_effects(log: list[str]) -> None:
    for what in ("write", "rename"):
        sys.audit(EVENT, what, "/file")
        log.append(what)
        sys.audit(EVENT, what + "d", "/file")


def test_points_are_counted_before_and_after_each_effect(crash_points: CrashPoints) -> None:
    """Two effects pass four points."""
    assert crash_points.count(lambda: _two_effects([])) == 4


@pytest.mark.parametrize(("n", "done"), [(1, 0), (2, 1), (3, 1), (4, 2)])
def test_a_crash_comes_at_its_point(crash_points: CrashPoints, n: int, done: int) -> None:
    """Point 1 is before the first effect, point 4 after the last."""
    log: list[str] = []
    with pytest.raises(Crash), crash_points.crash_at(n):
        _two_effects(log)
    assert len(log) == done


def test_past_the_last_point_nothing_crashes(crash_points: CrashPoints) -> None:
    """One past the end: the work is done."""
    log: list[str] = []
    with crash_points.crash_at(5):
        _two_effects(log)
    assert log == ["write", "rename"]


def test_a_dead_process_writes_nothing_more(crash_points: CrashPoints) -> None:
    """After the crash also a `finally` block meets it."""
    log: list[str] = []

    def work() -> None:
        try:
            _two_effects(log)
        finally:
            _two_effects(log)

    with pytest.raises(Crash), crash_points.crash_at(2):
        work()
    assert log == ["write"]


def test_points_are_counted_from_one(crash_points: CrashPoints) -> None:
    """A loop from 0 is a mistake that would leave out the last point."""
    with pytest.raises(ValueError, match="counted from 1"), crash_points.crash_at(0):
        pass


def test_outside_its_contexts_nothing_crashes(crash_points: CrashPoints) -> None:
    """A crash point set by one test is gone in the next."""
    with crash_points.crash_at(1):
        pass
    _two_effects([])
