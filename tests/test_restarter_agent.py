"""The restarter's loop and its start: instances in turn, one process, errors in one line."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from restarter_story import GRANT
from restarter_world import Clock, Host
from spoteval.clock import read_now
from spoteval.config.restarter import read_restarter
from spoteval.config.shared import ConfigError
from spoteval.files import held
from spoteval.loop import Wake
from spoteval.machine.systemd import Notifier
from spoteval.paths import HostPaths
from spoteval.provider.contract import State
from spoteval.shape import Unreadable
from spoteval_agents.restarter.agent import main, run, served_by, watched
from spoteval_agents.restarter.served import Served

CONFIG = """
[host]
role = "restarter"
[store]
url = "file://{root}/store"
[instance.gpu-1]
provider = "local"
id = "gpu-1"
cloud = "{root}/cloud/gpu-1"
[instance.gpu-2]
provider = "local"
id = "gpu-2"
cloud = "{root}/cloud/gpu-2"
[grant]
price_cap = {{ amount = 14.0, currency = "USD", per = "hour" }}
"""


class Waits:
    """Lets the time pass, `file` where a test touched something, and ends after so many waits."""

    def __init__(self, clock: Clock, reasons: list[str]) -> None:
        self.clock, self.reasons = clock, reasons
        self.waited: list[float] = []

    def wait(self, timeout_s: float) -> Wake:
        self.waited.append(timeout_s)
        reason = self.reasons.pop(0)
        self.clock.seconds += timeout_s if reason == "time" else 0.25
        return Wake("signal" if reason == "signal" else "file" if reason == "file" else "time")


def served(host: Host) -> Served:
    """That host's instance in a loop."""
    return Served(host.world, host.book, host.log, host.policy)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host file, and the variables that systemd would set."""
    path = tmp_path / "config.toml"
    path.write_text(CONFIG.format(root=tmp_path))
    monkeypatch.setenv("SPOTEVAL_CONFIG", str(path))
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.setattr(sys, "argv", ["spoteval-restarter"])
    return path


def test_each_instance_has_its_own_pace(tmp_path: Path) -> None:
    """One waits in its grace and is looked at every 10 s, the other runs and is looked at every 60."""
    clock = Clock()
    hosts = [Host(tmp_path / "a"), Host(tmp_path / "b")]
    for host in hosts:
        object.__setattr__(host.world, "clock", clock)
    hosts[1].provider.is_now(State.RUNNING)
    looks: list[tuple[float, int]] = []
    for number, host in enumerate(hosts):
        host.provider.at_observe = lambda n=number: looks.append((clock.seconds, n))  # type: ignore[misc]
    run(
        [served(host) for host in hosts],
        Waits(clock, ["time"] * 6 + ["signal"]),
        clock,
        Notifier({}),
    )
    assert [second for second, number in looks if number == 0] == [0, 10, 20, 30, 40, 50, 60]
    assert [second for second, number in looks if number == 1] == [0, 60]


def test_a_touched_file_is_looked_at_at_once(tmp_path: Path) -> None:
    """Nobody waits a minute to see that the hold works."""
    host = Host(tmp_path)
    host.provider.is_now(State.RUNNING)
    waits = Waits(host.clock, ["file", "signal"])
    run([served(host)], waits, host.clock, Notifier({}))
    assert waits.waited == [60, 60]
    assert watched([served(host)]) == (host.paths.hold.parent, host.mirror)


def test_the_watchdog_is_fed_between_rare_looks(tmp_path: Path) -> None:
    """A poll may be longer than what systemd allows between two signs of life."""
    host = Host(tmp_path)
    host.provider.is_now(State.RUNNING)
    waits = Waits(host.clock, ["time", "time", "time", "signal"])
    run([served(host)], waits, host.clock, Notifier({"WATCHDOG_USEC": "50000000"}))
    assert waits.waited == [25, 25, 10, 25]


def test_a_full_disk_starts_nothing_and_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No request without its record; the other instances are served; when there is room, it goes on."""
    host = Host(tmp_path)
    host.cycle(0)
    one = served(host)

    def full(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr("spoteval_agents.restarter.book.write_record", full)
        for second in (60, 120, 180):
            host.clock.seconds = second
            one.serve()
    assert host.provider.calls == []
    host.clock.seconds = 240
    one.serve()
    assert host.provider.calls == ["start"]
    lines = capsys.readouterr().err.splitlines()
    assert sum("decision=state-unwritable" in line for line in lines) == 1
    assert sum("decision=state-written" in line for line in lines) == 1


def test_the_host_file_makes_the_instances(config: Path) -> None:
    """Both, with the paths of this host and the cap of the grant."""
    paths = HostPaths(config=config, state=config.parent / "state")
    one, two = served_by(read_restarter(config), paths, Clock())
    assert (one.policy.instance, two.policy.instance) == ("gpu-1", "gpu-2")
    assert one.policy.hold_path == f"{config.parent}/state/holds/gpu-1"
    assert one.policy.grant == GRANT
    assert (one.policy.local, one.lane, one.policy.identity) == (
        False,
        "local",
        two.policy.identity,
    )


def test_an_instance_without_its_provider_settings_is_a_configuration_error(config: Path) -> None:
    """One line with file, table and key."""
    config.write_text(config.read_text().replace("cloud =", "id2 ="))
    paths = HostPaths(config=config, state=config.parent / "state")
    with pytest.raises(ConfigError, match=r"config\.toml: \[instance\.gpu-1\] cloud: missing"):
        served_by(read_restarter(config), paths, Clock())


def test_a_wrong_host_file_exits_2(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, no traceback."""
    config.write_text(config.read_text().replace("price_cap", "price_cup"))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_two_restarters_on_one_host_are_one(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second one exits 1 and has touched nothing."""
    with held(config.parent / "state" / "restarter.lock"), pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "another process holds it" in capsys.readouterr().err


def test_version(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Says its name and number."""
    monkeypatch.setattr(sys, "argv", ["spoteval-restarter", "--version"])
    main()
    assert capsys.readouterr().out.startswith("spoteval-restarter ")


@pytest.mark.runs("the process itself: its signal and its exit code")
def test_the_process_ends_at_once_on_term(config: Path) -> None:
    """It decides without a cloud, says so, and TERM ends it with 0."""
    code = "from spoteval_agents.restarter.agent import main; main()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    (config.parent / "store").mkdir()
    child = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True
    )
    assert child.stderr is not None
    lines = [child.stderr.readline(), child.stderr.readline()]
    child.send_signal(signal.SIGTERM)
    assert child.wait(20) == 0
    assert ["decision=unknown instance=gpu-" in line for line in lines] == [True, True]
    child.stderr.close()


def test_a_host_without_a_store_keeps_no_register(config: Path) -> None:
    """Its holds are files of its own."""
    text = config.read_text().replace('role = "restarter"', 'role = "restarter"\nholds = ["local"]')
    config.write_text(text.replace(f'[store]\nurl = "file://{config.parent}/store"\n', ""))
    paths = HostPaths(config=config, state=config.parent / "state")
    one, _ = served_by(read_restarter(config), paths, Clock())
    assert (one.world.store, one.policy.local, one.policy.identity) == (None, True, None)
    assert not (config.parent / "state" / "identity").exists()


def test_a_host_keeps_its_name(config: Path) -> None:
    """Made once; damaged or out of reach, it serves on and owns nothing."""
    paths = HostPaths(config=config, state=config.parent / "state")
    names = {served_by(read_restarter(config), paths, Clock())[0].policy.identity for _ in (1, 2)}
    assert len(names) == 1
    (config.parent / "state" / "identity").write_text("x")
    one = served_by(read_restarter(config), paths, Clock())[0]
    assert isinstance(one.policy.identity, Unreadable)
    (config.parent / "flat").touch()
    flat = HostPaths(config=config, state=config.parent / "flat" / "state")
    with pytest.raises(OSError, match="flat"):
        served_by(read_restarter(config), flat, Clock())


COMMAND = """
[host]
role = "restarter"
[store]
url = "file://{root}/store"
[instance.gpu-1]
provider = "command"
id = "gpu-1"
observe = ["sh", "-c", "echo asked > {root}/asked; exec sleep 5"]
start = ["false"]
stop = ["false"]
"""


@pytest.mark.runs("the process itself, with a program that does not answer")
def test_term_waits_for_no_provider(config: Path) -> None:
    """The call that is under way would take seconds; the process is gone before it is over, with 0."""
    root = config.parent
    config.write_text(COMMAND.format(root=root))
    (root / "store").mkdir()
    code = "from spoteval_agents.restarter.agent import main; main()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True
    )
    assert child.stderr is not None
    while not (root / "asked").exists():
        assert child.poll() is None
        time.sleep(0.02)
    child.send_signal(signal.SIGTERM)
    assert child.wait(20) == 0
    assert "decision=" not in child.stderr.read()
    child.stderr.close()


def test_what_the_provider_cancels_is_the_policy_s(config: Path) -> None:
    """Row 6 asks for no stop that the provider could not carry out."""
    text = config.read_text()
    for typed, expected in (("", True), ("cancels = false\n", False)):
        config.write_text(
            text
            + '[instance.own]\nprovider = "command"\nid = "i"\nobserve = ["/o"]\nstart = ["/s"]\n'
            + f'stop = ["/t"]\n{typed}'
        )
        paths = HostPaths(config=config, state=config.parent / "state", run=config.parent / "run")
        served = served_by(read_restarter(config), paths, read_now)
        assert served[-1].policy.cancels is expected
