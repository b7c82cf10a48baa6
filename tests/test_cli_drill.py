"""`spoteval drill`: what it is refused for before anything is done, what it says, and its exit codes."""

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from cli_hosts import INSTANCE, Hosts, made_hosts, restarter_file
from drill_story import RUN, told
from fake_provider import FakeProvider
from spoteval.clock import Mark, read_now
from spoteval.control.drills import FOR_S, Announced, announce, announced
from spoteval.control.facts import put_fact
from spoteval.drill.plan import GUEST
from spoteval.event import events_from
from spoteval.files import held, read_lines, touch, write_record, write_whole
from spoteval.paths import InstancePaths
from spoteval.provider.contract import State
from spoteval.run import RunPlan, RunRecord

SESSION = "5e551011"


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    """Both hosts, this boot recorded, every agent that a drill needs at work."""
    found = made_hosts(tmp_path)
    found.booted()
    locks = [found.base / "node" / "run" / f"{agent}.lock" for agent in AGENTS]
    with ExitStack() as stack:
        for lock in (*locks, found.base / "restarter" / "state" / "restarter.lock"):
            stack.enter_context(held(lock))
        yield found


AGENTS = ("shutdown-hook", "publication-follower", "boot-resume")


def assigned(hosts: Hosts, run: str) -> None:
    """The guest has put this run's fact."""
    put_fact(hosts.store, INSTANCE, 1, SESSION, f"run-{run}-1", {})


def with_provider(monkeypatch: pytest.MonkeyPatch, state: State) -> FakeProvider:
    """The restarter host's commands meet this provider."""
    provider = FakeProvider([state])
    monkeypatch.setattr("spoteval.cli.drill_there.provider_of", lambda *_: provider)
    return provider


def test_on_a_laptop_nothing_can_be_drilled(hosts: Hosts) -> None:
    """Exit 3, with where it is typed."""
    done = hosts.laptop("drill", "forced-stop")
    assert (done.code, done.out) == (3, "")
    assert done.err == (
        "drill forced-stop: this is a laptop; it is typed on the guest or on the restarter host\n"
    )


def test_options_of_the_other_host_are_refused(hosts: Hosts) -> None:
    """Each says whose it is."""
    assert hosts.guest("drill", "forced-stop", "--give-up").err == (
        "drill forced-stop: --give-up is for the restarter host\n"
    )
    assert hosts.restarter("drill", "forced-stop", "--run-only").err == (
        "drill forced-stop: --run-only is for the guest\n"
    )


def test_a_guest_drills_no_other(hosts: Hosts) -> None:
    """The name is only checked."""
    done = hosts.guest("drill", "forced-stop", "gpu-2")
    assert (done.code, done.err) == (
        3,
        'drill forced-stop: "gpu-2": this guest is "gpu-1" and drills no other\n',
    )


def test_a_guest_under_its_hold_is_not_drilled(hosts: Hosts) -> None:
    """The run would not be resumed."""
    touch(hosts.disk.guest_hold, "tp 4 -> 8")
    done = hosts.guest("drill", "forced-stop")
    assert (done.code, done.err) == (
        3,
        f'drill forced-stop: held: "tp 4 -> 8" (rm {hosts.disk.guest_hold})\n',
    )
    assert not hosts.disk.runs.exists()


def test_a_guest_that_drains_is_not_drilled(hosts: Hosts) -> None:
    """Something stops it already."""
    draining = hosts.base / "node" / "run" / "draining"
    touch(draining, "")
    done = hosts.guest("drill", "forced-stop")
    assert (done.code, done.err) == (
        3,
        f"drill forced-stop: an interruption is under way ({draining})\n",
    )


def test_without_an_agent_nothing_would_be_learned(tmp_path: Path) -> None:
    """The first that is missing is named, with what starts it."""
    found = made_hosts(tmp_path)
    found.booted()
    done = found.guest("drill", "forced-stop")
    assert (done.code, done.err) == (
        3,
        (
            "drill forced-stop: shutdown-hook does not run"
            " (systemctl enable --now spoteval-shutdown-hook)\n"
        ),
    )


@pytest.mark.runs("asks the harness for its version")
def test_an_active_run_is_not_drilled_away(hosts: Hosts) -> None:
    """On the guest by the disk, on the restarter host by the store; nothing is made, nothing is stopped."""
    assert hosts.guest("run", "new", "swe").code == 0
    assert hosts.guest("run", "start", "swe").code == 0
    done = hosts.guest("drill", "forced-stop")
    assert (done.code, done.err) == (
        3,
        (
            'drill forced-stop: run "swe" is active and not over: a drill would stop it'
            " (spoteval run finish swe, or drill when it is over)\n"
        ),
    )
    assert [path.name for path in hosts.disk.runs.iterdir()] == ["swe"]
    done = hosts.restarter("drill", "forced-stop", INSTANCE)
    assert (done.code, done.err) == (
        3,
        (
            'drill forced-stop: run "swe" is active and not over: a drill would stop it'
            " (on the guest: spoteval run finish swe, or drill when it is over)\n"
        ),
    )


@pytest.mark.runs("asks the harness for its version")
def test_the_run_alone_is_made_and_started(hosts: Hosts) -> None:
    """A second time it says the same, and makes no second one."""
    first = hosts.guest("drill", "forced-stop", "--run-only")
    assert first.code == 0
    (run,) = [path.name for path in hosts.disk.runs.iterdir()]
    assert first.err.splitlines() == [
        f"{run} is the active run; boot-resume starts it when the servers are ready",
        "the stops come from the restarter host: spoteval drill forced-stop gpu-1",
    ]
    assert any(key.endswith(f"run-{run}-1.json") for key in hosts.stored("instances/"))
    again = hosts.guest("drill", "forced-stop")
    assert (again.code, again.err.splitlines()) == (0, first.err.splitlines()[1:])
    assert len(list(hosts.disk.runs.iterdir())) == 1


@pytest.mark.runs("asks the harness for its version")
def test_no_run_for_the_other_host_is_made_beside_a_drill_of_this_one(hosts: Hosts) -> None:
    """Its stops come from here."""
    hosts.guest("drill", "forced-stop", "--within", "0s")
    (run,) = [path.name for path in hosts.disk.runs.iterdir()]
    done = hosts.guest("drill", "forced-stop", "--run-only")
    assert (done.code, done.err) == (
        3,
        f"drill forced-stop: {run} is under way, and its stops come from this guest (spoteval status)\n",
    )
    assert len(list(hosts.disk.runs.iterdir())) == 1


@pytest.mark.runs("asks the harness for its version")
def test_a_drill_that_is_over_is_told_before_another_is_begun(hosts: Hosts) -> None:
    """Who comes back too late to watch sees what it showed; typed once more, the same line begins another."""
    shutil.copytree(told(hosts.base / "told").disk.root / "runs", hosts.disk.runs)
    hosts.disk.active.write_text(f"{RUN}\n")
    plan = RunPlan("directory", "fresh_budget", label="drill", preflight=("true", GUEST))
    record = RunRecord(RUN, INSTANCE, 1, read_now().wall, plan)
    write_record(hosts.disk.run(RUN).record, record.record())
    write_record(hosts.disk.run(RUN).end, {"reason": "complete"})
    first = hosts.guest("drill", "forced-stop", "--within", "0s", "--json")
    assert json.loads(first.out)["drill"] == RUN
    assert [path.name for path in hosts.disk.runs.iterdir()] == [RUN]
    hosts.guest("drill", "forced-stop", "--within", "0s")
    assert len(list(hosts.disk.runs.iterdir())) == 2


@pytest.mark.runs("asks the harness for its version")
def test_a_run_that_is_not_live_is_not_stopped(hosts: Hosts) -> None:
    """Too few episodes run: the power stays on, and it can be typed again."""
    done = hosts.guest("drill", "forced-stop", "--within", "0s")
    assert done.code == 1
    assert "is not live after 0 s (too few episodes run); nothing was stopped" in done.err
    assert not (hosts.base / "node" / "run" / "poweroff").exists()


@pytest.mark.runs("asks the harness for its version")
def test_a_store_that_is_away_stops_nothing(hosts: Hosts) -> None:
    """A machine that goes off unannounced would be held as one that a person stopped."""
    shutil.rmtree(hosts.base / "store")
    done = hosts.guest("drill", "forced-stop")
    assert done.code == 1
    assert "the restarter does not know it yet" in done.err
    assert not (hosts.base / "node" / "run" / "poweroff").exists()


def test_a_held_instance_is_not_drilled(hosts: Hosts) -> None:
    """It would not be started again."""
    touch(hosts.instance.hold, "we build")
    done = hosts.restarter("drill", "forced-stop", INSTANCE)
    assert (done.code, done.err) == (
        3,
        'drill forced-stop: held: "we build" (spoteval hold release gpu-1)\n',
    )


def test_an_instance_that_is_off_is_not_drilled(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to stop."""
    provider = with_provider(monkeypatch, State.STOPPED)
    done = hosts.restarter("drill", "forced-stop", INSTANCE)
    assert (done.code, done.err) == (
        3,
        (
            "drill forced-stop: gpu-1 is not RUNNING (STOPPED): nothing was stopped"
            " (spoteval start gpu-1)\n"
        ),
    )
    assert provider.calls == []


def test_without_ssh_a_person_makes_the_run(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is done it says what to type."""
    provider = with_provider(monkeypatch, State.RUNNING)
    done = hosts.restarter("drill", "forced-stop", INSTANCE)
    assert (done.code, done.err) == (
        3,
        (
            "drill forced-stop: no drill's run is live on gpu-1, and no ssh in [instance.gpu-1]."
            " On the guest: sudo spoteval drill forced-stop --run-only; then here again."
            " Nothing was done\n"
        ),
    )
    assert provider.calls == []
    assert not hosts.instance.drill.exists()


def test_above_the_cap_nothing_is_stopped(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would not be started again either."""
    cap = '[grant]\nprice_cap = { amount = 0.01, currency = "USD", per = "hour" }\n'
    hosts.configure("restarter", restarter_file(hosts.base, more=cap))
    provider = with_provider(monkeypatch, State.RUNNING)
    done = hosts.restarter("drill", "forced-stop", INSTANCE)
    assert done.code == 3
    assert "cap" in done.err
    assert provider.calls == []


def test_without_a_restarter_nothing_is_stopped(tmp_path: Path) -> None:
    """Who would start it again?"""
    done = made_hosts(tmp_path).restarter("drill", "forced-stop", INSTANCE)
    assert (done.code, done.err) == (
        3,
        "drill forced-stop: the restarter does not run (systemctl enable --now spoteval-restarter)\n",
    )


def test_a_restarter_that_does_not_hear_of_it(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is stopped, and the announcement is taken back."""
    provider = with_provider(monkeypatch, State.RUNNING)
    assigned(hosts, RUN)
    monkeypatch.setattr("spoteval.drill.there.There.live", lambda self, run: (1, 4))
    monkeypatch.setattr("spoteval.cli.drill_there.HEARD_S", -99.0)
    done = hosts.restarter("drill", "forced-stop", INSTANCE)
    assert done.code == 1
    assert "the restarter did not take note of the drill" in done.err
    assert provider.calls == []
    assert not hosts.instance.drill.exists()


def test_a_drill_that_a_hold_ends(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its stop is on record as rehearsed before it is asked for; what has not come by then has failed."""
    provider = with_provider(monkeypatch, State.RUNNING)
    assigned(hosts, RUN)
    write_record(hosts.instance.state, {"drill": {"run": RUN}})
    monkeypatch.setattr("spoteval.drill.there.There.live", lambda self, run: (1, 4))
    monkeypatch.setattr("spoteval.drill.there.There.held", lambda self: ("stop-rule",))
    done = hosts.restarter("drill", "forced-stop", INSTANCE, "--json")
    assert done.code == 1
    assert provider.calls == ["stop"]
    (event,) = events_from(read_lines(hosts.instance.events).records)
    assert (event.kind, event.rehearsal) == ("manual-stop", True)
    assert event.detail == {"rehearsal": True, "run": RUN, "stop": 1, "boot_seq": 1}
    assert "held meanwhile: stop-rule" in done.err
    assert done.record["passed"] is False
    assert {item["passed"] for item in done.record["expectations"]} == {False}
    assert not hosts.instance.drill.exists()


def test_giving_up_withdraws_what_was_announced(hosts: Hosts) -> None:
    """Once; then there is nothing to withdraw."""
    announce(hosts.instance, Announced(RUN, "ana", read_now().mark))
    assert hosts.restarter("drill", "forced-stop", "--give-up").out == "withdrawn\n"
    assert not hosts.instance.drill.exists()
    assert hosts.restarter("drill", "forced-stop", "--give-up").out == "no drill was announced\n"


def test_show_without_a_drill(hosts: Hosts) -> None:
    """Neither host knows one."""
    assert hosts.guest("drill", "show").code == 3
    assert hosts.restarter("drill", "show").err == (
        "drill show: no drill of gpu-1 is on record (spoteval drill forced-stop)\n"
    )


def test_show_prints_every_expectation(hosts: Hosts, tmp_path: Path) -> None:
    """From the disk, where what arrived is asked of the follower; nobody answers here."""
    shutil.copytree(told(tmp_path / "story").disk.root / "runs", hosts.disk.runs)
    write_whole(hosts.disk.active, f"{RUN}\n".encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spoteval.cli.drill_here._PASS_WITHIN_S", 0.0)
        done = hosts.guest("drill", "show")
    assert done.code == 0
    assert len(done.lines) == 13
    assert done.lines[-1] == f"{RUN}: under way  10 ok, 0 failed, 2 open"


@pytest.mark.parametrize(("age_s", "believed"), [(FOR_S - 0.001, True), (FOR_S, False)])
def test_an_announcement_is_believed_for_two_hours(
    tmp_path: Path, age_s: float, believed: bool
) -> None:
    """A drill that was given up by ^C must not hide a person's stop for ever."""
    paths = InstancePaths(tmp_path, INSTANCE)
    now = replace(read_now(), mono_s=1000.0)
    announce(paths, Announced(RUN, "ana", Mark(now.wall, now.mono_s, now.boot)))
    later = replace(now, mono_s=now.mono_s + age_s)
    assert (announced(paths, later) is not None) is believed
