"""The process `spoteval-publication-follower`: its loop, its errors, its end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from follower_world import Guest
from spoteval.clock import monotonic_s
from spoteval.control import requests
from spoteval.control.requests import FINAL, Answer
from spoteval.files import held
from spoteval.loop import Wake
from spoteval.machine.systemd import Notifier
from spoteval_agents.publication_follower import agent

SOURCES = [str(Path(__file__).parent.parent / name) for name in ("common", "agents")]


class Waits:
    """A waker that lets time pass and does something at each wait; at the end it is told to stop."""

    def __init__(self, guest: Guest, *then: Callable[[], object]) -> None:
        self.guest, self.then = guest, list(then)
        self.waited: list[float] = []

    def wait(self, timeout_s: float) -> Wake:
        """Time passes; a signal after the last thing that happens."""
        self.waited.append(timeout_s)
        self.guest.later(timeout_s)
        if not self.then:
            return Wake("signal", signal.SIGTERM)
        self.then.pop(0)()
        return Wake("time")


class Asking(Waits):
    """A waker whose look during a pass sees a request that came just then, and sees it that one time."""

    def __init__(self, guest: Guest) -> None:
        super().__init__(guest)
        self.request = ""

    def wait(self, timeout_s: float) -> Wake:
        """A file once, between two works; a signal when the loop waits."""
        if timeout_s > 0:
            return super().wait(timeout_s)
        if self.request:
            return Wake("time")
        self.request = requests.ask(self.guest.disk, FINAL, "hook", 60.0, self.guest.clock())
        return Wake("file")


def test_a_request_that_comes_during_a_pass_is_served_after_it(tmp_path: Path) -> None:
    """Not when the next pass is due: its asker has no such time."""
    guest = Guest(tmp_path)
    guest.finish("1")
    guest.finish("2")
    waits = Asking(guest)
    world = replace(guest.world, interrupted=agent._interrupted(waits, guest.memory))
    agent.run(world, guest.memory, waits, Notifier({}))
    assert isinstance(requests.answer(guest.disk, waits.request), Answer)
    assert len(waits.waited) == 1


class Stopped:
    """A waker that is told to stop at once, after another agent wrote its last event."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest

    def wait(self, timeout_s: float) -> Wake:
        """The signal."""
        self.guest.log("events.jsonl", {"kind": "interrupted", "session": "s1"})
        return Wake("signal", signal.SIGTERM)


def test_the_loop_publishes_until_a_signal(tmp_path: Path) -> None:
    """Passes at their interval, and an episode within one of them."""
    guest = Guest(tmp_path)
    waits = Waits(guest, lambda: guest.finish("1"), lambda: None)
    agent.run(guest.world, guest.memory, waits, Notifier({}))
    assert waits.waited == [2.0, 2.0, 2.0]
    assert guest.has("episodes/1/1/MANIFEST.json")


def test_what_was_written_during_the_stop_is_published(tmp_path: Path) -> None:
    """The last cycle comes after the signal."""
    guest = Guest(tmp_path)
    agent.run(guest.world, guest.memory, Stopped(guest), Notifier({}))
    assert len([key for key in guest.keys("log/") if "BEGIN" not in key]) == 2


def test_the_watchdog_is_fed_more_often_than_passes_are_made(tmp_path: Path) -> None:
    """A long interval must not look like a hang."""
    guest = Guest(tmp_path)
    config = replace(guest.config, publish_every_s=600.0)
    waits = Waits(guest)
    agent.run(
        replace(guest.world, config=config),
        guest.memory,
        waits,
        Notifier({"WATCHDOG_USEC": "60000000"}),
    )
    assert waits.waited == [30.0]


def test_a_disk_that_fails_in_mid_pass_is_said_and_the_loop_lives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once; and when it works again, the next pass is as any other."""
    guest = Guest(tmp_path)
    guest.finish("1")
    broken = guest.paths.settlement
    broken.mkdir()
    waits = Waits(guest, lambda: None, broken.rmdir, lambda: None)
    agent.run(guest.world, guest.memory, waits, Notifier({}))
    said = [line for line in capsys.readouterr().err.splitlines() if "decision=failed" in line]
    assert len(said) == 1
    assert "settlement.jsonl: Is a directory" in said[0]
    assert guest.has("episodes/1/1/MANIFEST.json")


def test_a_disk_that_takes_no_line_either_ends_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dead disk fails the pass, and the file copy of the line that says so; a gone one likewise."""
    guest = Guest(tmp_path)
    decisions, sentinel = guest.disk.root / "decisions", guest.disk.sentinel
    decisions.mkdir(parents=True)
    (decisions / "publication-follower.jsonl").mkdir()
    waits = Waits(guest, sentinel.unlink)
    agent.run(guest.world, guest.memory, waits, Notifier({}))
    said = capsys.readouterr().err
    assert "decision=failed" in said
    assert "decision=no-disk" in said
    assert waits.waited[1:] != []


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Guest:
    """A guest whose directories the environment names."""
    guest = Guest(tmp_path)
    for name, value in variables(guest).items():
        monkeypatch.setenv(name, value)
    return guest


def variables(guest: Guest) -> dict[str, str]:
    """As systemd sets them."""
    config, run = str(guest.root / "config.toml"), str(guest.root / "run")
    return {"SPOTEVAL_CONFIG": config, "SPOTEVAL_RUN_DIRECTORY": run}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file"),
        ("[host]\nrole = 'guest'\ninstance = 'x'\nextra = 1\n", "config.toml: "),
        ("[host", "not TOML"),
    ],
)
def test_a_wrong_host_file_is_exit_2_in_one_line(
    environment: Guest, capsys: pytest.CaptureFixture[str], text: str | None, said: str
) -> None:
    """The file is named, and no traceback is shown."""
    path = environment.root / "config.toml"
    path.unlink()
    if text is not None:
        path.write_text(text)
    with pytest.raises(SystemExit) as end:
        agent.main()
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f"spoteval-publication-follower: {path}: ")
    assert said in error
    assert error.count("\n") == 1


def test_a_second_follower_is_refused(
    environment: Guest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two would number alike."""
    with (
        held(environment.root / "run" / "publication-follower.lock"),
        pytest.raises(SystemExit) as end,
    ):
        agent.main()
    assert end.value.code == 1
    assert "is it running twice?" in capsys.readouterr().err


def test_the_version_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a host file."""
    monkeypatch.setattr(sys, "argv", ["spoteval-publication-follower", "--version"])
    agent.main()
    assert capsys.readouterr().out.startswith("spoteval-publication-follower ")


CODE = """
import sys
from spoteval.machine.systemd import Notifier
from spoteval_agents.publication_follower.agent import main
loaded = set()
Notifier.ready = lambda self: loaded.update(sys.modules)
main()
print(sorted(set(sys.modules) - loaded))
"""


@pytest.mark.runs("the follower as a process, ended by the signal that systemd sends")
def test_the_process_publishes_and_ends_with_0_on_term(tmp_path: Path) -> None:
    """Session and store from the host file; nothing is imported once it is ready."""
    guest = Guest(tmp_path)
    guest.finish("1")
    search = {"PYTHONPATH": os.pathsep.join(SOURCES)}
    with subprocess.Popen(
        [sys.executable, "-c", CODE],
        env=os.environ | variables(guest) | search,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        wait_until((guest.root / "run" / "session").exists)
        guest.session = json_of(guest.root / "run" / "session")
        guest.claim()
        wait_until(lambda: guest.has("episodes/1/1/MANIFEST.json"))
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate(timeout=20)
    assert process.returncode == 0
    assert b"decision=published episodes=1" in said
    assert out == b"[]\n"


def json_of(path: Path) -> str:
    """The id in a session file."""
    return str(json.loads(path.read_text())["id"])


def wait_until(met: Callable[[], bool], within_s: float = 30.0) -> None:
    """Poll; fails when it does not come."""
    until_s = monotonic_s() + within_s
    while not met():
        assert monotonic_s() < until_s
        time.sleep(0.05)
