"""The hook, idle-guard and end-handler as processes: a real run that is stopped, real children, real signals."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bench.place import Place, made, started
from spoteval.clock import stamp
from spoteval.control import requests
from spoteval.control.enders import enders
from spoteval.control.requests import Answer
from spoteval.control.runfiles import interruptions
from spoteval.files import append_line, read_lines, remove, write_record, write_whole
from spoteval.machine.session import this_session

pytestmark = pytest.mark.runs("what processes and signals do is seen from outside")
LIMIT_S = 60.0
HARNESS = """
import signal, sys, time
def asked(signum, frame):
    print("wrote its last words", flush=True)
    sys.exit(0)
signal.signal(signal.SIGINT, asked if sys.argv[1] == "hears" else signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(600)
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A guest with an active run."""
    return made(tmp_path)


@pytest.fixture
def harness(place: Place) -> Iterator[Callable[[str], "subprocess.Popen[str]"]]:
    """Starts a process of the run's unit, which takes SIGTERM for nothing."""
    running: list[subprocess.Popen[str]] = []

    def start(how: str) -> "subprocess.Popen[str]":
        env = place.environment | {"SPOTEVAL_UNIT": f"{place.root}:spoteval-run.service"}
        argv = [sys.executable, "-c", HARNESS, how]
        process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def eventually(true: Callable[[], object]) -> None:
    """Wait until it holds."""
    until = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.05)


def announce(place: Place, in_s: float) -> None:
    """The provider's notice."""
    deadline = stamp(datetime.now(UTC) + timedelta(seconds=in_s))
    notice = {"kind": "preemption", "deadline": deadline, "id": "n-1"}
    write_record(place.root / "cloud" / "notice.json", notice)


def closed(place: Place) -> bool:
    """Whether the one interruption is closed."""
    found = interruptions(place.durable.run("bench"))
    return any(item.closed is not None for item in found.values())


def steps(place: Place) -> dict[str, str]:
    """The steps of the one interruption, with what they said."""
    (path,) = place.durable.run("bench").interruptions.glob("*/steps.jsonl")
    return {str(line["step"]): str(line["detail"]) for line in read_lines(path).records}


def test_a_notice_stops_the_run_by_its_own_way(
    place: Place, harness: Callable[[str], "subprocess.Popen[str]"]
) -> None:
    """SIGINT is heard, nobody is killed, the fact is put by the command line, the hook waits, then leaves."""
    this = this_session(place.root / "run" / "session", boot_id())
    write_record(place.durable.boot, {"seq": 3, "session": this.id, "at": now_mark()})
    run = harness("hears")
    with started(place, "shutdown_hook") as hook:
        announce(place, 30)
        eventually(lambda: closed(place))
        assert run.wait(LIMIT_S) == 0
        assert run.stdout is not None
        assert run.stdout.read() == "wrote its last words\n"
        (found,) = interruptions(place.durable.run("bench")).values()
        assert found.cause == "preempted"
        assert found.closed is not None
        assert found.closed.killed == 0
        assert steps(place)["SIGINT"] == "0 left"
        assert (place.root / "run" / "draining").exists()
        fact = place.root / "store/instances/gpu-1/boots" / f"000003-{this.id}" / "notice.json"
        eventually(fact.exists)
        assert json.loads(fact.read_text())["interruption"] == found.opened.id
        assert hook.process.poll() is None
        hook.process.terminate()
        assert hook.process.wait(LIMIT_S) == 0
    assert len(interruptions(place.durable.run("bench"))) == 1


def test_a_run_that_hears_nothing_is_killed(
    place: Place, harness: Callable[[str], "subprocess.Popen[str]"]
) -> None:
    """SIGINT is ignored, so it is left out; SIGTERM does nothing; KILL ends it, and is counted."""
    run = harness("ignores")
    (place.root / "run" / "stopping").touch()
    with started(place, "shutdown_hook") as hook:
        time.sleep(0.3)
        hook.process.terminate()
        assert hook.process.wait(LIMIT_S) == 0
    assert run.wait(LIMIT_S) == -signal.SIGKILL
    (found,) = interruptions(place.durable.run("bench")).values()
    assert (found.opened.source, found.cause) == ("shutdown", "unknown")
    assert found.closed is not None
    assert found.closed.killed == 1
    assert "SIGINT" not in steps(place)
    assert steps(place)["kill"] == "1 killed, empty"


def test_a_stop_of_the_unit_alone_touches_nothing(
    place: Place, harness: Callable[[str], "subprocess.Popen[str]"]
) -> None:
    """The machine does not stop: the run goes on."""
    run = harness("hears")
    with started(place, "shutdown_hook") as hook:
        hook.process.terminate()
        assert hook.process.wait(LIMIT_S) == 0
    assert run.poll() is None
    (found,) = interruptions(place.durable.run("bench")).values()
    assert found.cause == "not-an-interruption"
    assert not (place.root / "run" / "draining").exists()


def test_a_withdrawn_notice_lets_the_run_go_on(place: Place) -> None:
    """draining is gone, and the events say why."""
    with started(place, "shutdown_hook"):
        announce(place, 30)
        eventually(lambda: closed(place))
        remove(place.root / "cloud" / "notice.json")
        eventually(lambda: not (place.root / "run" / "draining").exists())
    kinds = [line["kind"] for line in read_lines(place.durable.run("bench").events).records]
    assert kinds == ["notice", "interrupted", "notice-expired"]


def test_a_complete_run_is_ended_through_the_real_command_line(place: Place) -> None:
    """The hold is in the store, proved; the machine is asked to go off."""
    this = this_session(place.root / "run" / "session", boot_id())
    write_record(place.durable.boot, {"seq": 1, "session": this.id, "at": now_mark()})
    run = place.durable.run("bench")
    remove(run.intended)
    write_record(run.intended, {"episodes": ["a"]})
    append_line(run.finished, {"episode": "a", "attempt": 1})

    def off() -> bool:
        for request in requests.pending(place.durable):
            requests.reply(place.durable, request.id, Answer(1, 0, 0, 0, 0.1))
        return (place.root / "run" / "poweroff").exists()

    with started(place, "end_handler"):
        eventually(off)
    holds = list((place.root / "store/instances/gpu-1/holds").iterdir())
    assert [path.name.partition("-")[0] for path in holds] == ["end"]
    found = enders(place.durable.enders)
    assert isinstance(found, tuple)
    assert [(item.proved, item.proved_by) for item in found] == [(True, "end-handler")]


def test_an_idle_machine_without_its_disk_is_ended_through_the_real_command_line(
    place: Place,
) -> None:
    """No run is seen; the hold is in the store; nothing was written to the foreign disk."""
    write_whole(place.durable.sentinel, b'{"format": 1, "instance": "other"}')
    config = place.root / "config.toml"
    idle = 'after = "1s"\ncpu_above = "100%"\nevery = "1s"'
    write_whole(config, config.read_text().replace('every = "1s"', idle, 1).encode())
    before = sorted(place.durable.disk.rglob("*"))
    with started(place, "idle_guard"):
        eventually((place.root / "run" / "poweroff").exists)
    holds = list((place.root / "store/instances/gpu-1/holds").iterdir())
    assert [path.name.partition("-")[0] for path in holds] == ["idle"]
    assert sorted(place.durable.disk.rglob("*")) == before


@pytest.mark.parametrize("agent", ["shutdown_hook", "idle_guard", "end_handler"])
def test_one_of_each_and_a_wrong_host_file_is_said(place: Place, agent: str) -> None:
    """A second one ends with 1; a wrong value with 2 and one line; --version with 0."""
    with started(place, agent):
        second = once(place, agent)
        assert second.returncode == 1
        assert "is it running twice?" in second.stderr
    write_whole(place.root / "config.toml", b'[host]\nrole = "guest"\ninstance = "a b"\n')
    wrong = once(place, agent)
    assert wrong.returncode == 2
    assert wrong.stderr.count("\n") == 1
    assert '"a b"' in wrong.stderr
    assert once(place, agent, "--version").stdout.startswith(f"spoteval-{agent.replace('_', '-')} ")


def once(place: Place, agent: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """The agent, to its end."""
    env = {name: value for name, value in place.environment.items() if name != "NOTIFY_SOCKET"}
    code = f"from spoteval_agents.{agent}.agent import main; main()"
    argv = [sys.executable, "-c", code, *words]
    return subprocess.run(
        argv, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


def boot_id() -> str:
    """The kernel's."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def now_mark() -> dict[str, object]:
    """A mark of this moment."""
    wall = stamp(datetime.now(UTC))
    return {"wall": wall, "mono_s": time.clock_gettime(time.CLOCK_BOOTTIME), "boot": boot_id()}


def test_the_place_is_what_it_says(place: Place) -> None:
    """The command line on its PATH is the real one."""
    program = place.root / "bin" / "spoteval"
    done = subprocess.run(
        [program, "--version"],
        env=os.environ | place.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("spoteval ")
