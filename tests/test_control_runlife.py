"""The life of a run, cut at every write; versions; a person's stop."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from cli_hosts import Hosts, made_hosts
from crash_points import Crash, CrashPoints
from spoteval import __version__
from spoteval.clock import read_now
from spoteval.config.guest import GuestConfig, read_guest
from spoteval.control.boot import Boot, recorded_boot, this_boot
from spoteval.control.runcontrol import Stopped
from spoteval.control.runlife import hold_guest, new_plan, new_run, start_run
from spoteval.control.runstop import Asked, stop_marked
from spoteval.control.versions import WITHIN_S, versions
from spoteval.event import events_from
from spoteval.files import read_lines, read_record, touch
from spoteval.harness.contract import StopStep
from spoteval.machine.cgroup import Members
from spoteval.machine.process import Finished
from spoteval.paths import HostPaths
from spoteval.run import RunPlan, RunRecord
from spoteval.settlement import cut_outcome
from spoteval.shape import Reading, Table, Unreadable

BOOT = Boot(3, "s3")


def _hosts(base: Path) -> tuple[Hosts, GuestConfig]:
    base.mkdir()
    hosts = made_hosts(base)
    return hosts, read_guest(base / "node" / "config.toml")


def _made(hosts: Hosts, config: GuestConfig) -> RunRecord:
    plan = new_plan(config, hosts.disk, None, None)
    return new_run(config, hosts.disk, "q3", plan, read_now(), lambda plan: {"spoteval": "1"})


def test_new_run_is_whole_or_not_there(tmp_path: Path, crash_points: CrashPoints) -> None:
    """Killed at any write there is no record, or the whole one; then the name is used or free."""
    hosts, config = _hosts(tmp_path / "count")
    points = crash_points.count(lambda: _made(hosts, config))
    for n in range(1, points + 1):
        hosts, config = _hosts(tmp_path / str(n))
        with pytest.raises(Crash), crash_points.crash_at(n):
            _made(hosts, config)
        found = read_record(hosts.disk.run("q3").record)
        assert found is None or (isinstance(found, Table) and found.text("name") == "q3")


def test_start_goes_on_after_a_kill_at_any_write(tmp_path: Path, crash_points: CrashPoints) -> None:
    """Whatever was done before it was killed, the second start ends where one start ends."""
    hosts, config = _hosts(tmp_path / "count")
    _made(hosts, config)

    def start() -> None:
        start_run(config, hosts.disk, "q3", hosts.store, BOOT)

    touch(hosts.disk.keep_alive, "setup 2026-12-01")
    for n in range(1, crash_points.count(start) + 1):
        hosts, config = _hosts(tmp_path / str(n))
        _made(hosts, config)
        touch(hosts.disk.keep_alive, "setup 2026-12-01")
        with pytest.raises(Crash), crash_points.crash_at(n):
            start()
        start()
        assert hosts.disk.active.read_text() == "q3\n"
        assert hosts.stored() == ["instances/gpu-1/boots/000003-s3/run-q3-1.json"]
        assert not hosts.disk.keep_alive.exists()


def test_a_hold_that_stands_keeps_its_reason(tmp_path: Path) -> None:
    """A second hold changes nothing, and says so."""
    hosts, _ = _hosts(tmp_path / "x")
    assert hold_guest(hosts.disk, "first")
    assert not hold_guest(hosts.disk, "second")
    assert hosts.disk.guest_hold.read_text() == "first"


def test_the_boot_that_facts_carry(tmp_path: Path) -> None:
    """The recorded boot, if it is this one; none, damaged or an earlier one is unreadable."""
    hosts, _ = _hosts(tmp_path / "x")
    paths = HostPaths(run=hosts.base / "node" / "run")
    assert isinstance(recorded_boot(hosts.disk), Unreadable)
    session = hosts.booted(7)
    assert this_boot(hosts.disk, paths, read_now()) == Boot(7, session)
    (hosts.base / "node" / "run" / "session").unlink()
    found = this_boot(hosts.disk, paths, read_now())
    assert isinstance(found, Unreadable)
    assert found.why.endswith("this boot is not recorded yet (boot-resume does that)")
    hosts.disk.boot.write_text('{"format": 1, "seq": "x"}')
    assert isinstance(recorded_boot(hosts.disk), Unreadable)


@pytest.mark.parametrize(
    ("code", "out", "err", "late", "version"),
    [
        (0, "0.3.285\n", "", False, "0.3.285"),
        (0, "", "inspect, version 1.2rc1+local\n", False, "1.2rc1+local"),
        (0, "no version here\n", "", False, "unknown"),
        (2, "1.2.3\n", "usage", False, "unknown"),
        (0, "1.2.3\n", "", True, "unknown"),
    ],
)
def test_the_harness_says_its_version(
    code: int, out: str, err: str, late: bool, version: str
) -> None:
    """What looks like one, from a program that ended well and in time; else unknown."""
    asked: list[tuple[tuple[str, ...], float]] = []

    def run(argv: Sequence[str], within_s: float) -> Finished:
        asked.append((tuple(argv), within_s))
        return Finished(code, out, err, timed_out=late, duration_s=1.0)

    plan = RunPlan("inspect", "fresh_budget", executable="/v/bin/inspect")
    assert versions(plan, run) == {"spoteval": __version__, "inspect": version}
    assert asked == [(("/v/bin/inspect", "--version"), WITHIN_S)]
    assert versions(RunPlan("inspect", "fresh_budget"), run) == {"spoteval": __version__}


class _Unit:
    """The run's unit with these processes."""

    def __init__(self, pids: Reading[frozenset[int]]) -> None:
        self.pids = pids

    def members(self, unit: str) -> Reading[frozenset[int]]:
        """Who is there."""
        return self.pids


def _stop(
    hosts: Hosts, record: RunRecord, unit: _Unit, answer: Reading[Stopped]
) -> Reading[Stopped | None]:
    def stop(
        members: Members, steps: tuple[StopStep, ...], own_s: float, kill_s: float
    ) -> Reading[Stopped]:
        return answer

    asked = Asked("ana", "look at it", "s3")
    return stop_marked(record, hosts.disk.run("q3"), asked, unit, (), stop=stop)


def test_a_persons_stop_is_marked_and_closed(tmp_path: Path) -> None:
    """The marker says operator, so what was cut is operator-stopped and nobody's failure."""
    hosts, config = _hosts(tmp_path / "x")
    record = _made(hosts, config)
    done = Stopped(("SIGINT",), 0, empty=True)
    assert _stop(hosts, record, _Unit(frozenset([42])), done) == done
    (folder,) = hosts.disk.run("q3").interruptions.iterdir()
    opened, closed = read_record(folder / "opened.json"), read_record(folder / "closed.json")
    assert isinstance(opened, Table)
    assert isinstance(closed, Table)
    assert (opened.text("cause"), opened.text("session")) == ("operator", "s3")
    assert closed.text("cause") == "operator"
    assert cut_outcome(opened.text("cause")) == "operator_stopped"
    (event,) = events_from(read_lines(hosts.disk.run("q3").events).records)
    assert (event.kind, event.reason, event.detail["by"]) == ("run-stopped", "look at it", "ana")


def test_a_stop_of_what_does_not_run_marks_nothing(tmp_path: Path) -> None:
    """Nothing was cut, so there is no interruption."""
    hosts, config = _hosts(tmp_path / "x")
    record = _made(hosts, config)
    assert _stop(hosts, record, _Unit(frozenset()), Unreadable("never asked")) is None
    assert not hosts.disk.run("q3").interruptions.exists()


def test_a_stop_that_is_not_known_to_be_done_stays_open(tmp_path: Path) -> None:
    """Opened and not closed: whoever comes next knows that it was under way."""
    hosts, config = _hosts(tmp_path / "x")
    record = _made(hosts, config)
    found = _stop(hosts, record, _Unit(frozenset([42])), Unreadable("cgroup gone"))
    assert found == Unreadable("cgroup gone")
    (folder,) = hosts.disk.run("q3").interruptions.iterdir()
    assert [path.name for path in folder.iterdir()] == ["opened.json"]
    assert _stop(hosts, record, _Unit(Unreadable("no cgroup")), found) == Unreadable("no cgroup")
