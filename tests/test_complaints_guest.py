"""What users of neighbouring tools complain of, on the guest: each number of the list is a test."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hook_world import Guest
from idle_world import Idle
from resume_play import play
from spoteval.config.guest import DiskSettings
from spoteval.control import disk as disk_module
from spoteval.control import runstop
from spoteval.control.disk import prove
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.files import read_lines, touch, write_record, write_whole
from spoteval.machine.cgroup import MarkedProcesses
from spoteval.machine.disk import Mount
from spoteval.shape import Unreadable
from spoteval_agents.end_handler import act
from test_end_cycle import Ending
from test_idle_probes import Answers

OURS, OTHER = "0b5e6f0e-6a0e-4b58-9a1c-2f1d3f7f2a11", "1c6f7010-7b1f-4c69-8b2d-3f2e40803b22"
IGNORES = (
    "import signal, time\n"
    "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('up', flush=True)\n"
    "time.sleep(600)\n"
)


@pytest.fixture
def idle(tmp_path: Path) -> Idle:
    """A machine that nothing uses."""
    return Idle(Guest(tmp_path))


def minutes(idle: Idle, count: float) -> None:
    """So much time under the guard."""
    idle.until(idle.guest.clock.at_s + 60.0 * count)


def test_complaint_07_a_restart_goes_on_from_the_same_disk(tmp_path: Path) -> None:
    """Not rebuilt from scratch: the same run, one epoch more, and what was finished is finished."""
    machine = play(tmp_path)
    machine.run(machine.agent(), "first-episode", cycles=200)
    write_record(machine.made.run.intended, {"episodes": ["a", "b"]})
    write_whole(machine.made.run.finished, b'{"episode": "a", "attempt": 1, "native_id": "n"}\n')
    before = machine.made.run.finished.read_bytes()
    sentinel = machine.made.disk.sentinel.read_bytes()
    machine.reboot("s2")
    machine.pids["vllm.service"] = frozenset([3_999_998])
    machine.run(machine.agent(), "first-episode", cycles=200)
    assert machine.starts == 2
    assert sorted(path.name for path in machine.made.run.epochs.glob("*.json")) == [
        "1.json",
        "2.json",
    ]
    assert machine.made.run.finished.read_bytes() == before
    assert machine.made.disk.sentinel.read_bytes() == sentinel


def test_complaint_07_another_disk_in_its_place_is_not_gone_on_with(tmp_path: Path) -> None:
    """The sentinel says whose it is."""
    machine = play(tmp_path)
    write_record(machine.made.disk.sentinel, {"instance": "gpu-2"})
    machine.run(machine.agent(), "disk")
    assert 'sentinel belongs to "gpu-2", this is "gpu-1"' in machine.lines[-1]["why"]
    assert machine.starts == 0


def test_complaint_27_an_idle_machine_goes_off_with_nobody_reachable(idle: Idle) -> None:
    """No restarter, no store: 20 min of idleness and 15 of trying; the intent stays owed."""
    idle.proof = Unreadable("timeout:60s")
    minutes(idle, 34)
    assert not idle.off
    minutes(idle, 3)
    assert idle.off
    assert idle.intents()[0].unfinished


def test_complaint_27_a_complete_run_ends_with_nobody_reachable(tmp_path: Path) -> None:
    """The guest hold stands, so that whoever starts it again resumes nothing."""
    ending = Ending(Guest(tmp_path), deaf=("hold", "fact"), follows=False)
    ending.finish("a", "b", "c")
    ending.until(1000 + 2 * 3600)
    assert ending.off
    assert ending.guest.durable.guest_hold.read_text().startswith("run swe is over")
    assert ending.intents()[0].unfinished


@contextmanager
def stubborn(root: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process of the run's unit that obeys nothing but KILL."""
    env = {**os.environ, "SPOTEVAL_UNIT": f"{root}:{RUN_UNIT}"}
    argv = [sys.executable, "-c", IGNORES]
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
        process.kill()


@pytest.mark.runs("a real process that ignores its stop")
def test_complaint_28_at_its_deadline_the_machine_goes_off_whatever_the_run_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is killed, and the machine is powered off, not only the run ended."""
    for module in (act, runstop):
        monkeypatch.setattr(module, "OWN_S", 1.0)
        monkeypatch.setattr(module, "KILL_S", 5.0)
    ending = Ending(Guest(tmp_path), deadline=datetime(2026, 12, 1, 2, 58, 21, tzinfo=UTC))
    members = MarkedProcesses(tmp_path)
    ending.handler.probes.members = ending.handler.hands.members = members
    with stubborn(tmp_path) as process:
        ending.until(1000 + 120)
        assert process.wait(10) == -signal.SIGKILL
    assert ending.off
    assert ending.end().reason == "deadline"


@pytest.mark.parametrize(
    ("mount", "uuid", "why"),
    [
        (None, OURS, "is on the root filesystem, not UUID 0b5e…2a11: disk not attached?"),
        (Mount(Path("/d"), "/dev/vdb", "ext4", read_only=False), OTHER, f'UUID "{OTHER}" is not'),
        (Mount(Path("/d"), "/dev/vdb", "ext4", read_only=False), OURS, "no sentinel (spoteval"),
        (Mount(Path("/d"), "/dev/vdb", "ext4", read_only=True), OURS, "is read-only"),
    ],
)
def test_complaint_52_a_mount_point_without_its_disk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mount: Mount | None, uuid: str, why: str
) -> None:
    """On the root file system, another UUID, no sentinel, read-only: one line, and nothing is written."""
    monkeypatch.setattr(disk_module, "mount_at", lambda point: mount)
    monkeypatch.setattr(disk_module, "uuid_of", lambda device: uuid)
    place = Path("/")
    before = sorted(path.name for path in place.iterdir())
    base = Guest(tmp_path).config
    config = replace(base, provider="command", disk=DiskSettings(place, "uuid", OURS))
    found = prove(config)
    assert isinstance(found, Unreadable)
    assert found.why.startswith(f"/: {why}")
    assert sorted(path.name for path in place.iterdir()) == before


@pytest.mark.parametrize("sign", ["run", "gpu", "cpu", "episode logs"])
def test_complaint_79_a_silent_long_computation_is_no_idleness(tmp_path: Path, sign: str) -> None:
    """The run active, or GPU or processors above their limit, or new bytes in its files: any one keeps it on."""
    answers = Answers(gpu=0.06 if sign == "gpu" else 0.0)
    idle = Idle(Guest(tmp_path), eyes=answers.eyes())
    log = idle.guest.run.work / "log.txt"
    if sign == "run":
        idle.guest.units.scripts[RUN_UNIT] = iter([frozenset([2**22 + 1])] * 9999)
    for number in range(120):
        if sign == "episode logs":
            write_whole(log, b"x" * number)
        idle.guest.clock.pause(max(10.0, idle.look(busy=0.5 * number if sign == "cpu" else 0.0)))
    assert not idle.off
    assert idle.intents() == ()
    assert sign in idle.line


def test_complaint_81_the_time_of_an_earlier_job_does_not_end_the_next(idle: Idle) -> None:
    """One active look begins the 20 min anew, wherever in them it comes."""
    minutes(idle, 19)
    idle.look(busy=0.5)
    minutes(idle, 19)
    assert not idle.off
    assert idle.intents() == ()


def test_complaint_81_use_and_keep_alive_are_looked_at_again_just_before_the_stop(
    idle: Idle,
) -> None:
    """Also after the hold is proved."""
    minutes(idle, 19)
    while "decision=hold" not in idle.line:
        idle.guest.clock.pause(max(1.0, idle.look()))
    touch(idle.guest.durable.keep_alive, "back at it (ana)")
    idle.look()
    assert "decision=withdraw because=keep-alive" in idle.line
    minutes(idle, 60)
    assert not idle.off


def test_complaint_83_a_probe_that_fails_counts_as_use_with_one_warning_a_transition(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """nvidia-smi is not there: on for hours, one warning; there again: one line, and then off."""
    why = "nvidia-smi: No such file or directory"
    answers = Answers(gpu=Unreadable(why))
    idle = Idle(Guest(tmp_path), eyes=answers.eyes())
    minutes(idle, 50)
    assert not idle.off
    assert f'because="gpu unreadable: {why}"' in idle.line
    answers.gpu = 0.0
    minutes(idle, 30)
    assert idle.off
    said = [line for line in capsys.readouterr().err.splitlines() if "decision=" not in line]
    assert said == [f"<4>gpu unreadable: {why}; counted as use", "<6>gpu can be read again"]


def test_complaint_85_a_touch_stops_the_guard_within_one_look_and_its_age_is_shown(
    idle: Idle,
) -> None:
    """Whatever the guard was about to do; and it is not forgotten."""
    keep = idle.guest.durable.keep_alive
    minutes(idle, 19)
    touch(keep, "debugging (ana)")
    at = idle.guest.clock().wall.timestamp()
    os.utime(keep, (at, at))
    idle.guest.clock.pause(idle.look())
    assert idle.line.startswith("agent=idle-guard decision=active because=keep-alive idle_s=0")
    minutes(idle, 13 * 60)
    assert not idle.off
    assert 'keep_alive="debugging (ana)" keep_alive_s=46' in idle.line
    calls = [
        record["reason"]
        for record in read_lines(idle.guest.run.events).records
        if record["kind"] == "needs_you"
    ]
    forgotten = 'keep-alive ("debugging (ana)") is 12 h old and keeps the machine on'
    assert calls == [f"{forgotten}: touch it again or remove it"]
    keep.unlink()
    minutes(idle, 25)
    assert idle.off
