"""local.node: one driver, two units of shell, every way in which a life can end."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from spoteval.clock import parse_stamp, read_now
from spoteval.files import append_line, held, read_lines
from spoteval.local.cloud import CloudFiles
from spoteval.local.directories import LocalDirectories
from spoteval.local.machine import UnitMachine
from spoteval.local.market import History, Market, StartAnswer, Strike
from spoteval.local.node import Driver, enabled, main
from spoteval.local.unit_file import load_units
from spoteval.local.weather import Calm
from spoteval.machine import process
from spoteval.machine.cgroup import MarkedProcesses
from spoteval.notice.file import FileNotice
from spoteval.provider.contract import Observation, State
from spoteval.provider.local import LocalProvider

pytestmark = pytest.mark.runs("boots a node of two shell units")

UNIT = """[Unit]
{unit}
[Service]
ExecStart=sh -c 'cd "$RUNTIME_DIRECTORY/../durable"; trap "ls ../run >> {name}; echo {name} >> order; exit 0" TERM; \
echo up >> {name}; while :; do sleep 0.02; done'
[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True, slots=True)
class Sky(Calm):
    """Starts at once; each life is struck as it begins to serve."""

    blow: Strike | None = None
    window_s: float = 0.3

    def start(self, seed: int, attempt: int) -> StartAnswer:
        return StartAnswer(200, None, begins=True, runs=True, after_s=0.0)

    def strike(self, seed: int, history: History) -> Strike | None:
        return self.blow if history[-1].name == "serving" else None


class Node:
    """A node and its cloud in a temporary directory."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = (tmp_path / "node").resolve()
        self.units = tmp_path / "units"
        for directory in (self.units, self.root / "durable" / "spoteval" / "runs" / "r"):
            directory.mkdir(parents=True)
        (self.root / "durable" / "spoteval" / "active").write_text("r\n")
        (self.units / "run.service").write_text(UNIT.format(unit="", name="run"))
        (self.units / "hook.service").write_text(UNIT.format(unit="After=run.service", name="hook"))
        self.events = self.root / "durable" / "spoteval" / "runs" / "r" / "events.jsonl"
        self.cloud = CloudFiles(tmp_path / "cloud")
        self.provider = LocalProvider(self.cloud.root)
        self.driver = self.driven_by(Sky())

    def driven_by(self, sky: Sky, button_s: float = 30.0) -> Driver:
        """A driver under this sky."""
        market = Market(1, sky, button_s)
        units = load_units([self.units])
        machine = UnitMachine(LocalDirectories(self.root), units, enabled(units))
        self.driver = Driver(self.cloud, machine, market)
        return self.driver

    def up(self, sky: Sky | None = None, button_s: float = 30.0) -> None:
        """Power on, start, and wait until both units run."""
        self.driven_by(sky or Sky(), button_s).power_on(read_now())
        self.cloud.ask("start", read_now())
        self.until(lambda: self.noted("run") == ["up"] == self.noted("hook"))

    def serve(self) -> None:
        """What boot-resume writes in this life; a strike of the serving phase is then due."""
        for kind in ("resume-began", "first-episode"):
            append_line(self.events, {"kind": kind}, durable=False)

    def until(self, true: Callable[[], bool]) -> None:
        """Tick until something holds."""
        for _ in range(1500):
            self.driver.tick(read_now())
            if true():
                return
            time.sleep(0.02)
        pytest.fail(f"never; history: {self.history()}")

    def until_is(self, state: State) -> Observation:
        """Tick until the provider says so."""
        self.until(lambda: self.seen().state is state)
        return self.seen()

    def seen(self) -> Observation:
        """What the provider says."""
        seen = self.provider.observe(1.0)
        assert isinstance(seen, Observation)
        return seen

    def noted(self, name: str) -> list[str]:
        """The lines of a file on the durable disk."""
        path = self.root / "durable" / name
        return path.read_text().split() if path.exists() else []

    def history(self) -> list[object]:
        """What the market did, in its own words."""
        return [record["what"] for record in read_lines(self.cloud.history).records]

    def alive(self) -> frozenset[int]:
        """All processes of the node."""
        found = MarkedProcesses(self.root).all_members()
        assert isinstance(found, frozenset)
        return found


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """A node; nothing of it lives on."""
    made = Node(tmp_path)
    with held(made.cloud.lock):
        yield made
        made.driver.power_off(read_now())
    assert made.alive() == frozenset()


def test_the_power_button_stops_the_hook_before_the_run(node: Node) -> None:
    """By a person's stop: reverse order, and both see that the machine is stopping."""
    node.up()
    node.cloud.ask("stop", read_now())
    seen = node.until_is(State.STOPPED)
    assert node.noted("order") == ["hook", "run"]
    assert node.noted("hook") == ["up", "stopping"]
    assert (seen.cause, seen.billed) == ("user", False)
    assert seen.last_start is not None
    assert node.history() == ["start-asked", "running", "stop-asked", "stopped"]


def test_a_plug_without_notice_gives_nobody_time(node: Node) -> None:
    """Nothing noted its stop; the next life finds an empty /run and the same disk."""
    node.up(Sky(blow=Strike(0.0, noticed=False, button=False)))
    node.serve()
    seen = node.until_is(State.STOPPED)
    assert (seen.cause, node.alive(), node.noted("order")) == ("preempted", frozenset(), [])
    (node.root / "run" / "left").touch()
    node.cloud.ask("start", read_now())
    node.until(lambda: node.noted("run") == ["up", "up"])
    assert not (node.root / "run" / "left").exists()


@pytest.mark.parametrize(("button", "order"), [(True, ["hook", "run"]), (False, [])])
def test_a_notice_is_shown_and_then_comes_true(node: Node, button: bool, order: list[str]) -> None:
    """With a deadline one window ahead; what follows is the button or the plug; then it is gone."""
    node.up(Sky(blow=Strike(0.0, noticed=True, button=button)))
    node.serve()
    node.until(node.cloud.notice.exists)
    notice = json.loads(node.cloud.notice.read_text())
    shown = read_lines(node.cloud.history).records[-1]
    left = parse_stamp(notice["deadline"]) - parse_stamp(str(shown["at"]))
    assert (notice["kind"], left.total_seconds()) == ("preemption", 0.3)
    assert node.seen().state is State.RUNNING
    seen = node.until_is(State.STOPPED)
    assert (seen.cause, node.noted("order")) == ("preempted", order)
    assert FileNotice(CloudFiles(node.cloud.root).notice, "local").read() is None
    assert node.alive() == frozenset()


def test_the_rest_after_the_button_is_cut_short(node: Node) -> None:
    """A unit that does not come to an end meets the plug, long before its own timeout."""
    stubborn = "[Service]\nExecStart=sh -c 'trap \"\" TERM; while :; do sleep 0.02; done'\n"
    (node.units / "stubborn.service").write_text(stubborn + "[Install]\nWantedBy=x\n")
    node.up(Sky(blow=Strike(0.0, noticed=True, button=True)), button_s=0.5)
    node.serve()
    node.until_is(State.STOPPED)
    assert node.history()[-2:] == ["power-button", "plug"]


def test_what_the_guest_writes_moves_the_market_on(node: Node) -> None:
    """A strike waits for boot-resume's events of this life, not of an earlier one."""
    node.serve()
    node.up(Sky(blow=Strike(0.0, noticed=False, button=False)))
    assert node.history() == ["start-asked", "running"]
    node.serve()
    node.until_is(State.STOPPED)
    assert node.history()[2:] == ["resuming", "serving", "plug"]


def test_the_guest_powers_itself_off(node: Node) -> None:
    """By the file that root watches; the reason is the guest."""
    helper = "ExecStartPre=rm -f /run/spoteval/poweroff\nExecStart=systemctl --no-block poweroff\n"
    (node.units / "off.service").write_text(f"[Service]\nType=oneshot\n{helper}")
    path = "[Path]\nPathExists=/run/spoteval/poweroff\n[Install]\nWantedBy=paths.target\n"
    (node.units / "off.path").write_text(path)
    node.up()
    (node.root / "run" / "poweroff").touch()
    seen = node.until_is(State.STOPPED)
    assert (seen.cause, node.noted("order")) == ("guest", ["hook", "run"])


def test_a_new_driver_finds_the_instance_stopped(node: Node) -> None:
    """Requests, replies, notice and processes of the one before are gone."""
    node.up()
    node.cloud.ask("stop", read_now())
    node.cloud.notice.write_text("{}")
    node.driven_by(Sky()).power_on(read_now())
    assert node.seen() == Observation(State.STOPPED, billed=False)
    assert node.alive() == frozenset()
    assert (
        node.cloud.oldest_request(),
        FileNotice(CloudFiles(node.cloud.root).notice, "local").read(),
    ) == (None, None)


def started(node: Node, *more: str) -> process.Child:
    """The driver as a program."""
    argv = [sys.executable, "-m", "spoteval.local.node", "--root", str(node.root), "--cloud"]
    argv += [str(node.cloud.root), "--units", str(node.units), "--profile", "calm", *more]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(p for p in sys.path if p)}
    return process.spawn(argv, environment)


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_driver_leaves_nothing_behind(tmp_path: Path, signum: int) -> None:
    """However it ends: at KILL the watchdog on the other end of a pipe does what it cannot."""
    node = Node(tmp_path)
    driver = started(node)
    wait(node.cloud.state.exists)
    assert node.provider.start(20.0).ok
    wait(lambda: node.noted("run") == ["up"] == node.noted("hook"))
    assert len(node.alive()) >= 2
    driver.send(signum)
    assert driver.wait(20.0) == (-signum if signum == signal.SIGKILL else 0)
    wait(lambda: node.alive() == frozenset())
    assert not node.cloud.has_driver()
    assert node.noted("order") == []


def wait(true: Callable[[], bool]) -> None:
    """Wait until something holds, half a minute at most."""
    for _ in range(1500):
        if true():
            return
        time.sleep(0.02)
    pytest.fail("never")


def test_two_drivers_do_not_serve_one_instance(
    node: Node, capfd: pytest.CaptureFixture[str]
) -> None:
    """The second one says so and ends with 3."""
    argv = ["--root", str(node.root), "--cloud", str(node.cloud.root), "--units", str(node.units)]
    assert main(argv) == 3
    assert "another process holds it" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--profile", "storm"], 'profile "storm": must be demo | calm | weibull'),
        (["--units", "bad"], "x.service: "),
    ],
)
def test_a_wrong_call_is_one_line_and_2(
    tmp_path: Path, more: list[str], why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """With the value, and what is allowed."""
    node = Node(tmp_path)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.service").write_text("[Service]\nRestartSec=soon\n")
    argv = ["--root", str(node.root), "--cloud", str(node.cloud.root), "--units", str(node.units)]
    assert main(argv + [str(tmp_path / word) if word == "bad" else word for word in more]) == 2
    err = capfd.readouterr().err
    assert why in err
    assert err.count("\n") == 1
