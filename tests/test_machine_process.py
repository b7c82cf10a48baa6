"""machine.process: what starts, what ends, what the kernel says."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from spoteval.machine import process
from spoteval.shape import Unreadable

SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]


def ends(pid: int) -> bool:
    """Whether it goes within ten seconds: the kernel ends a signalled process a moment later."""
    for _ in range(1000):
        if not process.is_alive(pid):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.runs("starts a shell")
def test_run_returns_output_errors_and_code() -> None:
    """A program that fails is an answer, with both of its streams."""
    finished = process.run(["sh", "-c", "cat; echo bad >&2; exit 3"], 10, stdin=b"in")
    assert (finished.code, finished.out, finished.err) == (3, "in", "bad\n")
    assert not finished.timed_out
    assert not finished.ok


@pytest.mark.runs("starts a shell")
def test_run_gives_an_empty_input_and_the_environment_asked_for(tmp_path: Path) -> None:
    """Nothing of ours leaks in that was not asked for."""
    finished = process.run(["sh", "-c", "cat; echo $A; pwd"], 10, {"A": "b"}, tmp_path)
    assert finished.out.split() == ["b", str(tmp_path)]


@pytest.mark.runs("starts a shell")
def test_a_child_does_not_speak_to_our_service_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    """systemd logs a complaint for each message of a process that is not the main one."""
    for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "KEPT"):
        monkeypatch.setenv(name, "x")
    assert (
        process.run(["sh", "-c", "echo $NOTIFY_SOCKET$WATCHDOG_USEC$WATCHDOG_PID$KEPT"], 10).out
        == "x\n"
    )


@pytest.mark.runs("starts a shell that hangs")
def test_run_kills_at_the_deadline_with_all_that_was_started() -> None:
    """A child of the child does not outlive the deadline, and what was written is kept."""
    finished = process.run(["sh", "-c", "sleep 60 & echo $!; wait"], 0.3)
    assert finished.timed_out
    assert finished.code == -signal.SIGKILL
    assert ends(int(finished.out))


@pytest.mark.runs("starts a program that no signal of ours ends")
@pytest.mark.parametrize("most_bytes", [None, 100])
def test_run_waits_for_nothing_that_does_not_die(
    monkeypatch: pytest.MonkeyPatch, most_bytes: int | None
) -> None:
    """A driver that hangs keeps its tool in the kernel, killed or not; whoever asked goes on."""
    told: list[int] = []
    monkeypatch.setattr(process, "_signal_group", lambda pid, _: told.append(pid))
    monkeypatch.setattr(process, "LEFT_S", 0.05)
    finished = process.run(SLEEPER, 0.05, most_bytes=most_bytes)
    try:
        assert (finished.timed_out, finished.code) == (True, -signal.SIGKILL)
        assert process.is_alive(told[0])
    finally:
        os.kill(told[0], signal.SIGKILL)
        assert ends(told[0])


@pytest.mark.runs("asks for a program that is not there")
@pytest.mark.parametrize(("argv0", "code"), [("no-such-program", 127), ("/etc/passwd", 126)])
def test_run_answers_as_a_shell_does_for_what_cannot_start(argv0: str, code: int) -> None:
    """A missing or forbidden program is a code and a sentence, never an exception."""
    finished = process.run([argv0], 1)
    assert finished.code == code
    assert argv0 in finished.err


@pytest.mark.runs("starts processes and reads /proc")
def test_a_child_is_alive_until_it_is_not() -> None:
    """poll, wait and is_alive tell the same story; a zombie is not alive."""
    child = process.spawn(SLEEPER)
    try:
        assert child.poll() is None
        assert child.wait(0.01) is None
        assert process.is_alive(child.pid)
    finally:
        child.send_group(signal.SIGKILL)
    assert child.wait(10) == -signal.SIGKILL
    assert not process.is_alive(child.pid)


@pytest.mark.runs("starts a shell")
def test_a_child_with_pipes_is_spoken_to() -> None:
    """Input and output are pipes only where they were asked for."""
    child = process.spawn(["sh", "-c", "cat; echo err >&2"], stdin_pipe=True, output_pipe=True)
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(b"hello\n")
    child.stdin.close()
    assert child.stdout.read() == b"hello\nerr\n"
    assert child.wait(10) == 0
    child.stdout.close()


@pytest.mark.runs("starts a process with SIGINT ignored")
@pytest.mark.parametrize(("trap", "ignored"), [("trap '' INT", True), ("true", False)])
def test_an_ignored_signal_is_seen(trap: str, ignored: bool) -> None:
    """What a shell's `&` does to SIGINT is visible before anybody relies on SIGINT."""
    child = process.spawn(["sh", "-c", f"{trap}; echo up; exec sleep 60"], output_pipe=True)
    assert child.stdout is not None
    child.stdout.readline()
    assert process.signal_ignored(child.pid, signal.SIGINT) is ignored
    assert process.signal_ignored(child.pid, signal.SIGTERM) is False
    child.send(signal.SIGKILL)
    child.wait(10)
    child.stdout.close()


def test_a_process_that_is_gone_is_unreadable_not_false(tmp_path: Path) -> None:
    """No process, no answer."""
    assert isinstance(process.signal_ignored(1, signal.SIGINT, tmp_path), Unreadable)
    assert isinstance(process.start_time(1, tmp_path), Unreadable)
    assert not process.is_alive(1, tmp_path)


def test_start_time_is_found_behind_any_name(tmp_path: Path) -> None:
    """A command may be called `a) S 1 (`; the fields are counted from the last bracket."""
    (tmp_path / "7").mkdir()
    fields = " ".join(["S", *map(str, range(1, 50))])
    (tmp_path / "7" / "stat").write_text(f"7 (a) S 1 () {fields}\n")
    assert process.start_time(7, tmp_path) == 19
    assert process.is_alive(7, tmp_path)


def test_status_without_the_mask_is_unreadable(tmp_path: Path) -> None:
    """A status that does not tell is not a no."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "status").write_text("Name:\tx\n")
    assert isinstance(process.signal_ignored(7, signal.SIGINT, tmp_path), Unreadable)


def test_send_spares_the_own_process_and_the_dead() -> None:
    """A list of members may hold ourselves, and some that have just ended."""
    gone = 2**22 + 1  # beyond the kernel's greatest pid
    assert process.send([os.getpid(), gone], signal.SIGTERM) == frozenset()
