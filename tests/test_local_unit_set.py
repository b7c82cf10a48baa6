"""local.unit_set: units of shell and Python really run, in order, as systemd would run them."""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spoteval.clock import read_now
from spoteval.local.directories import LocalDirectories
from spoteval.local.unit_file import UnitError, load_units
from spoteval.local.unit_process import Status
from spoteval.local.unit_set import UnitSet, check
from spoteval.machine import process
from spoteval.machine.cgroup import MarkedProcesses
from spoteval.machine.unit import LocalUnits, UnitState

pytestmark = pytest.mark.runs("starts the units of a small node")

ENABLED = "[Install]\nWantedBy=multi-user.target\n"
NOTES_ITS_STOP = "trap 'echo {0} >> order; exit 0' TERM; echo up; while :; do sleep 0.02; done"


class Node:
    """A node in a temporary directory, driven by hand."""

    def __init__(self, root: Path) -> None:
        self.directories = LocalDirectories(root / "node")
        self.marked = MarkedProcesses(self.directories.root)
        self.files = root / "units"
        self.files.mkdir()
        self.directories.run.mkdir(parents=True)
        self.units = UnitSet({}, self.directories)

    def write(self, name: str, text: str) -> None:
        """A unit file. `sh:` in it runs a script in the run directory."""
        (self.files / name).write_text(text)

    def service(self, name: str, script: str, more: str = "", unit: str = "") -> None:
        """A service that runs a shell script in /run/spoteval."""
        path = self.files / f"{name}.sh"
        path.write_text(f'cd "$RUNTIME_DIRECTORY"\n{script}\n')
        self.write(
            f"{name}.service", f"[Unit]\n{unit}\n[Service]\nExecStart=sh {path}\n{more}\n{ENABLED}"
        )

    def boot(self, *names: str) -> None:
        """Load the files and boot these units."""
        units = load_units([self.files])
        check(units)
        self.units = UnitSet(units, self.directories)
        self.units.boot(names)

    def until(self, true: Callable[[], bool], what: str = "") -> None:
        """Tick until something holds; fails after half a minute, which a slow machine does not need."""
        for _ in range(1500):
            self.units.tick(read_now())
            if true():
                return
            time.sleep(0.02)
        pytest.fail(f"never: {what}\n{self.log()}")

    def until_is(self, name: str, status: Status) -> None:
        """Tick until a unit has this status."""
        self.until(lambda: self.units.status(f"{name}.service") is status, f"{name} {status}")

    def log(self) -> str:
        """All that was written."""
        return "".join(path.read_text() for path in self.directories.journal.glob("*.log"))

    def noted(self) -> list[str]:
        """What the units appended to `order`."""
        path = self.directories.run / "order"
        return path.read_text().split() if path.exists() else []

    def alive(self) -> frozenset[int]:
        """All processes of the node."""
        found = self.marked.all_members()
        assert isinstance(found, frozenset)
        return found


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """A node; whatever a test leaves is killed and looked for."""
    made = Node(tmp_path)
    yield made
    made.units.kill(read_now())
    assert made.alive() == frozenset()


def test_units_stop_in_the_reverse_of_their_order(node: Node) -> None:
    """b and c are After=a: both stop first, each in its own time, and only then a."""
    node.service("a", NOTES_ITS_STOP.format("a"))
    slow = "trap 'sleep 0.3; echo b >> order; exit 0' TERM; echo up; while :; do sleep 0.02; done"
    node.service("b", slow, unit="After=a.service")
    node.service("c", NOTES_ITS_STOP.format("c"), unit="After=b.service")
    node.boot("a.service", "b.service", "c.service")
    node.until(lambda: node.log().count(" up\n") == 3)
    node.units.shut_down()
    node.until(lambda: node.units.is_down)
    assert node.noted() == ["c", "b", "a"]


def test_what_is_ordered_after_a_notifying_unit_waits_until_it_is_ready(node: Node) -> None:
    """READY=1 of the main process, and not its mere start, lets the next one begin."""
    ready = "import os, sdnotify, time; n = sdnotify.SystemdNotifier(); time.sleep(0.3);"
    ready += "open('order', 'a').write('ready\\n'); n.notify('READY=1'); time.sleep(60)"
    node.service("a", f'exec {sys.executable} -c "{ready}"', "Type=notify")
    node.service("b", "echo b >> order; exec sleep 60", unit="After=a.service")
    node.boot("b.service", "a.service")
    node.until_is("b", Status.ACTIVE)
    node.until(lambda: len(node.noted()) == 2)
    assert node.noted() == ["ready", "b"]


def test_a_start_that_is_never_ready_times_out_and_frees_the_others(node: Node) -> None:
    """Order is not a requirement: the next unit starts all the same."""
    node.service("a", "exec sleep 60", "Type=notify\nTimeoutStartSec=0.3")
    node.service("b", "exec sleep 60", unit="After=a.service")
    node.boot("a.service", "b.service")
    node.until_is("b", Status.ACTIVE)
    node.until_is("a", Status.FAILED)
    assert "start timed out" in node.log()


def test_a_unit_that_ignores_its_stop_is_killed_with_its_children(node: Node) -> None:
    """TimeoutStopSec=, then KILL to every member, also to one that went into a session of its own."""
    script = "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 60; :' & echo up; wait; sleep 60"
    node.service("a", script, "TimeoutStopSec=0.3")
    node.boot("a.service")
    node.until(lambda: " up\n" in node.log())
    node.units.shut_down()
    node.until(lambda: node.units.is_down)
    assert node.units.status("a.service") is Status.FAILED
    assert node.alive() == frozenset()


@pytest.mark.parametrize(
    ("mode", "noted"), [("mixed", ["main"]), ("control-group", ["child", "main"])]
)
def test_who_gets_the_stop_signal(node: Node, mode: str, noted: list[str]) -> None:
    """With mixed the main process alone, which is what a harness wants of SIGINT."""
    child = "trap 'echo child >> order; exit' USR1; echo up; while :; do sleep 0.02; done"
    (node.files / "child.sh").write_text(child)
    script = (
        f"trap 'sleep 0.5; echo main >> order; exit 0' USR1\nsetsid sh {node.files}/child.sh &\n"
    )
    node.service(
        "a", script + "while :; do sleep 0.02; done", f"KillSignal=SIGUSR1\nKillMode={mode}"
    )
    node.boot("a.service")
    node.until(lambda: " up\n" in node.log())
    node.units.shut_down()
    node.until(lambda: node.units.is_down)
    assert node.noted() == noted


def test_a_unit_that_fails_comes_back_and_one_that_may_not_stays_down(node: Node) -> None:
    """Restart= and RestartPreventExitStatus=."""
    node.service("a", "echo a >> order; exit 1", "Restart=on-failure\nRestartSec=50ms")
    node.service("b", "exit 2", "Restart=always\nRestartPreventExitStatus=2")
    node.service("c", "exit 0", "Restart=on-failure")
    node.boot("a.service", "b.service", "c.service")
    node.until(lambda: len(node.noted()) >= 3)
    node.until_is("b", Status.FAILED)
    node.until_is("c", Status.INACTIVE)
    node.units.shut_down()
    node.until(lambda: node.units.is_down)


def test_a_service_without_a_sign_of_life_is_ended_and_restarted(node: Node) -> None:
    """WatchdogSec= counts from READY=1; the answer is ABRT."""
    script = "import sdnotify, time; open('order', 'a').write('up\\n');"
    script += "sdnotify.SystemdNotifier().notify('READY=1'); time.sleep(60)"
    more = "Type=notify\nWatchdogSec=300ms\nRestart=on-failure\nRestartSec=50ms"
    node.service("a", f'exec {sys.executable} -c "{script}"', more)
    node.boot("a.service")
    node.until(lambda: len(node.noted()) == 2)
    assert "watchdog: no sign of life for 0.3 s" in node.log()


def test_more_time_may_be_asked_for_while_stopping(node: Node) -> None:
    """EXTEND_TIMEOUT_USEC= lengthens a TimeoutStopSec= that would have cut the work."""
    script = "import sdnotify, signal, sys, time\nn = sdnotify.SystemdNotifier()\n"
    script += "def stop(*a):\n  n.notify('EXTEND_TIMEOUT_USEC=20000000'); time.sleep(0.8)\n"
    script += "  open('order', 'a').write('done\\n'); sys.exit(0)\n"
    script += "signal.signal(15, stop); n.notify('READY=1'); time.sleep(60)"
    (node.files / "a.py").write_text(script)
    more = "Type=notify\nTimeoutStopSec=0.4"
    node.service("a", f"exec {sys.executable} {node.files}/a.py", more)
    node.boot("a.service")
    node.until_is("a", Status.ACTIVE)
    node.units.shut_down()
    node.until(lambda: node.units.is_down)
    assert node.noted() == ["done"]


def test_a_request_file_starts_the_static_unit_unless_it_is_draining(node: Node) -> None:
    """The path unit, its helper and the condition, as on a real host; the request is taken away."""
    node.service("spoteval-run", "echo run >> order; exec sleep 60")
    path = node.files / "spoteval-run.service"
    text = path.read_text().replace(ENABLED, "")
    path.write_text(text.replace("[Unit]", "[Unit]\nConditionPathExists=!/run/spoteval/draining"))
    helper = "ExecStartPre=rm -f /run/spoteval/go\nExecStart=systemctl --no-block start "
    node.write("go.service", f"[Service]\nType=oneshot\n{helper}spoteval-run.service\n")
    node.write("go.path", "[Path]\nPathExists=/run/spoteval/go\n[Install]\nWantedBy=paths.target\n")
    node.boot("go.path")
    run = node.directories.run
    for name in ("draining", "go"):
        (run / name).touch()
    node.until(lambda: "condition /run/spoteval/draining" in node.log())
    assert not (run / "go").exists()
    assert node.units.status("spoteval-run.service") is Status.INACTIVE
    (run / "draining").unlink()
    (run / "go").touch()
    node.until(lambda: node.noted() == ["run"])
    assert not (run / "go").exists()


def test_power_off_is_asked_for_by_a_file_too(node: Node) -> None:
    """What the node does about it is the driver's business."""
    helper = "ExecStartPre=rm -f /run/spoteval/off\nExecStart=systemctl --no-block poweroff\n"
    node.write("off.service", f"[Service]\nType=oneshot\n{helper}")
    node.write("off.path", "[Path]\nPathExists=/run/spoteval/off\n[Install]\nWantedBy=x\n")
    node.boot("off.path")
    node.units.tick(read_now())
    assert not node.units.poweroff_asked
    (node.directories.run / "off").touch()
    node.until(lambda: node.units.poweroff_asked)


def test_a_program_that_is_not_there_fails_its_unit_alone(node: Node) -> None:
    """With a line that names it."""
    node.write("a.service", f"[Service]\nExecStart=no-such-program\n{ENABLED}")
    node.service("b", "exec sleep 60")
    node.boot("a.service", "b.service")
    node.until_is("a", Status.FAILED)
    node.until_is("b", Status.ACTIVE)
    assert "no-such-program: No such file" in node.log()


def test_units_hear_signals_that_the_driver_itself_ignores_or_handles(node: Node) -> None:
    """A handler is not inherited; the harness gets SIGINT as systemd would give it."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        node.service("a", "exec sleep 60")
        node.boot("a.service")
        node.until_is("a", Status.ACTIVE)
        (pid,) = node.alive()
        assert process.signal_ignored(pid, signal.SIGINT) is False
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_plug_takes_everything_at_once(node: Node) -> None:
    """No unit notes its stop, and none is left."""
    for name in "ab":
        node.service(name, NOTES_ITS_STOP.format(name))
    node.boot("a.service", "b.service")
    node.until(lambda: node.log().count(" up\n") == 2)
    node.units.kill(read_now())
    assert node.alive() == frozenset()
    assert node.noted() == []
    assert node.units.status("a.service") is Status.INACTIVE


def test_a_life_counts_its_own_restarts_alone(node: Node) -> None:
    """As NRestarts of systemd: what failed before the plug is another life's."""
    node.service("a", "echo Load weight begin; exit 3", "Restart=on-failure\nRestartSec=50ms")
    units = LocalUnits(node.directories.root)
    node.boot("a.service")
    node.until(lambda: node.log().count("auto-restart ended with 3") >= 2, "two failures")
    failed = units.state("a.service")
    assert isinstance(failed, UnitState)
    assert (failed.restarts >= 2, failed.gave_up) == (True, False)
    assert units.last_lines("a.service").splitlines()[-1] == "Load weight begin"
    node.units.kill(read_now())
    off = units.state("a.service")
    assert off == UnitState(known=True, state="inactive", result="", restarts=0)
    assert units.last_lines("a.service") == ""


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.path", "[Path]\nPathExists=/x\n", "a.path: starts a.service, which is not there"),
        ("a.service", "[Service]\nExecStartPre=true\nExecStart=true\n", "exactly one ExecStart="),
        ("a.service", "[Service]\nType=simple\n", "exactly one ExecStart="),
    ],
)
def test_what_a_node_cannot_run_is_refused_before_it_boots(
    node: Node, name: str, text: str, why: str
) -> None:
    """By name, and with what it can."""
    node.write(name, text)
    with pytest.raises(UnitError, match=why):
        check(load_units([node.files]))
