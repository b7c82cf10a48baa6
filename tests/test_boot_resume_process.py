"""The process spoteval-boot-resume: ready, one of it, gone at TERM whatever is under way."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from guest_world import Guest, guest
from spoteval.machine.process import is_alive

ROOTS = os.pathsep.join(str(Path(__file__).parents[1] / part) for part in ("common", "agents"))
AGENT = "from spoteval_agents.boot_resume.agent import main; main()"
# A child that never answers: it says who it is, and sleeps.
HANGS = '#!/bin/sh\necho $$ > "$SPOTEVAL_STATE_DIRECTORY/child"\nexec sleep 600\n'

pytestmark = pytest.mark.runs("what a signal does is seen from outside")


def environment(made: Guest, **more: str) -> dict[str, str]:
    """The agent's variables, with a `spoteval` of our own in front."""
    path = f"{made.root / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "PYTHONPATH": ROOTS, **made.environment, **more}


@contextmanager
def notified(made: Guest) -> Iterator[tuple[str, socket.socket]]:
    """The socket of a service manager."""
    name = str(made.root / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(name)
        listening.settimeout(60)
        yield name, listening


def heard(listening: socket.socket, word: bytes) -> None:
    """Wait for a message of the agent."""
    while word not in listening.recv(4096):
        pass


def started(made: Guest, env: dict[str, str]) -> "subprocess.Popen[str]":
    """The agent."""
    return subprocess.Popen(
        [sys.executable, "-c", AGENT], env=env, text=True, stderr=subprocess.PIPE
    )


def with_child(made: Guest) -> Path:
    """Put a `spoteval` that hangs; returns the file in which it says its pid."""
    program = made.root / "bin" / "spoteval"
    program.parent.mkdir()
    program.write_text(HANGS)
    program.chmod(0o755)
    made.paths.state.mkdir()
    said = made.paths.state / "child"
    os.mkfifo(said)
    return said


def test_term_is_obeyed_while_a_child_hangs(tmp_path: Path) -> None:
    """The agent is gone while the child still sleeps: nothing waited for it."""
    made = guest(tmp_path)
    made.activate()
    said = with_child(made)
    with notified(made) as (name, listening):
        process = started(made, environment(made, NOTIFY_SOCKET=name))
        heard(listening, b"READY=1")
        child = int(said.read_text())
        process.terminate()
        _, err = process.communicate(timeout=60)
    assert is_alive(child)
    os.kill(child, signal.SIGKILL)
    assert process.returncode == 0
    assert "agent=boot-resume decision=wait stage=epoch" in err


def test_a_second_one_does_not_start(tmp_path: Path) -> None:
    """One line, exit 1."""
    made = guest(tmp_path)
    with notified(made) as (name, listening):
        first = started(made, environment(made, NOTIFY_SOCKET=name))
        heard(listening, b"READY=1")
        second = started(made, environment(made))
        _, err = second.communicate(timeout=60)
        first.terminate()
        first.communicate(timeout=60)
    assert (first.returncode, second.returncode) == (0, 1)
    assert err.count("\n") == 1
    assert "another process holds it" in err


def test_a_wrong_host_file_is_exit_2_in_one_line(tmp_path: Path) -> None:
    """Trying again changes nothing, and the unit knows the code."""
    made = guest(tmp_path)
    made.paths.config.write_text('[host]\nrole = "guest"\n')
    process = started(made, environment(made))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err == f"<4>{made.paths.config}: [host] instance: missing\n"
