"""machine.systemd: what is said to the manager, and how its answer is read."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from spoteval.machine import memory
from spoteval.machine.systemd import Notifier, is_rebooting, is_stopping
from spoteval.shape import Unreadable


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The socket of a service manager."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "n"))
        listening.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "n"))
        yield listening


def test_each_message_is_one_datagram(manager: socket.socket) -> None:
    """The words are those of sd_notify(3)."""
    notifier = Notifier()
    notifier.ready("disk proved")
    notifier.watchdog()
    notifier.status("waiting")
    notifier.extend_timeout(1.5)
    notifier.stopping()
    assert [manager.recv(100) for _ in range(5)] == [
        b"READY=1\nSTATUS=disk proved",
        b"WATCHDOG=1",
        b"STATUS=waiting",
        b"EXTEND_TIMEOUT_USEC=1500000",
        b"STOPPING=1",
    ]


def test_a_manager_that_does_not_listen_holds_nobody_up(manager: socket.socket) -> None:
    """Ten messages fill its queue; a hook that waited for room would mark too late."""
    notifier = Notifier()
    notifier.ready()
    for _ in range(5000):
        notifier.watchdog()
    assert manager.recv(100) == b"READY=1"


def test_without_a_manager_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent started by hand runs the same."""
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    Notifier().ready()


@pytest.mark.parametrize(
    ("usec", "half"), [("30000000", 15.0), ("1", 5e-07), ("0", None), ("", None), ("x", None)]
)
def test_the_watchdog_is_due_at_half_the_time_allowed(usec: str, half: float | None) -> None:
    """None where the unit asks for none, or the manager wrote something else."""
    assert Notifier({"WATCHDOG_USEC": usec}).watchdog_s == half


def test_a_local_node_tells_by_a_file(tmp_path: Path) -> None:
    """The driver writes it at the power button."""
    assert is_stopping(tmp_path / "stopping") is False
    (tmp_path / "stopping").touch()
    assert is_stopping(tmp_path / "stopping") is True


@pytest.mark.runs("starts a stand-in named systemctl, by PATH")
@pytest.mark.parametrize(
    ("script", "stopping"),
    [
        ("echo stopping; exit 1", True),
        ("echo running", False),
        ("echo degraded; exit 1", False),
        ("echo starting; exit 1", False),
    ],
)
def test_the_answer_is_the_word_not_the_code(
    script: str, stopping: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """systemctl exits 1 for every word but running."""
    _systemctl(script, tmp_path, monkeypatch)
    assert is_stopping() is stopping


@pytest.mark.runs("starts a stand-in named systemctl, by PATH")
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo offline; exit 1", "offline"),
        ("echo 'Failed to connect to bus' >&2; exit 1", "Failed to connect to bus"),
        ("exec sleep 60", "timeout:0.3s"),
        ("exit 1", "no answer"),
    ],
)
def test_a_question_that_fails_is_unreadable(
    script: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller decides what to assume, and can say why."""
    _systemctl(script, tmp_path, monkeypatch)
    answer = is_stopping(timeout_s=0.3)
    assert isinstance(answer, Unreadable)
    assert why in answer.why


@pytest.mark.runs("starts a stand-in named systemctl, by PATH")
@pytest.mark.parametrize(
    ("script", "rebooting"),
    [
        ("echo ' 812 reboot.target start waiting'", True),
        ("echo ' 812 kexec.target start waiting'", True),
        ("exit 0", False),
    ],
)
def test_a_reboot_is_known_by_its_job(
    script: str, rebooting: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The jobs of the shutdown that goes on, as systemctl lists them."""
    _systemctl(script, tmp_path, monkeypatch)
    assert is_rebooting() is rebooting


@pytest.mark.runs("starts a stand-in named systemctl, by PATH")
def test_jobs_that_cannot_be_listed_are_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the bus has gone already."""
    _systemctl("echo 'Failed to connect to bus' >&2; exit 1", tmp_path, monkeypatch)
    answer = is_rebooting()
    assert isinstance(answer, Unreadable)
    assert "Failed to connect to bus" in answer.why


def test_a_local_node_never_reboots(tmp_path: Path) -> None:
    """Its driver only switches it off."""
    assert is_rebooting(tmp_path / "stopping") is False


def _systemctl(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "systemctl"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def test_freed_memory_is_given_back_before_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, when all is imported; a C library that cannot is no error."""
    asked: list[int] = []
    library = SimpleNamespace(malloc_trim=asked.append)
    assert (memory.give_back(library), memory.give_back(SimpleNamespace())) == (True, False)
    assert asked == [0]
    monkeypatch.setattr(memory, "give_back", lambda: asked.append(1))
    Notifier({}).ready()
    assert asked == [0, 1]
