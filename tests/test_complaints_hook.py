"""What users of neighbouring tools complain of, where it is the way down that must not do it."""

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from hook_world import GONE, Guest
from spoteval.config.window import reserve_s
from spoteval.control import disk, requests
from spoteval.control.requests import Answer
from spoteval.control.runcontrol import RESUME_UNIT, RUN_UNIT
from spoteval.control.runfiles import interruptions
from spoteval.control.settling import settle_run
from spoteval.files import read_lines
from spoteval.harness.registry import adapter
from spoteval.interruption import Opened
from spoteval.notice.open import NOTICES
from spoteval.run import RunPlan, RunRecord
from spoteval.shape import Reading, Unreadable
from spoteval_agents.shutdown_hook.plan import plan_for
from spoteval_agents.shutdown_hook.stages import FOLLOWER_UNIT
from spoteval_agents.shutdown_hook.watch import Polled

DAY_S = 24 * 3600


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """A guest with the active run `swe`, whose notice window is 60 s."""
    return Guest(tmp_path)


def answering(guest: Guest, asked: list[float]) -> None:
    """A follower that lives, and answers each final pass at the next pause."""

    def follower() -> None:
        for request in requests.pending(guest.durable):
            asked.append(request.deadline_s)
            requests.reply(guest.durable, request.id, Answer(2, 0, 0, 0, 1.0))

    guest.units.scripts[FOLLOWER_UNIT] = iter([frozenset([GONE])] * 1000)
    guest.clock.meanwhile = follower


def steps(guest: Guest) -> list[str]:
    """The steps of the one interruption, as its record has them."""
    (path,) = guest.run.interruptions.glob("*/steps.jsonl")
    return [str(line["step"]) for line in read_lines(path).records]


@pytest.mark.parametrize("signal_too", [False, True])
@pytest.mark.parametrize("provider", sorted(NOTICES))
def test_complaint_35_a_notice_powers_nothing_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str, signal_too: bool
) -> None:
    """The provider takes the machine, and bills as for its own stop: not before the window nor after it, whoever
    the provider is. No setting makes it otherwise: the restarter would take that stop for one on purpose."""
    monkeypatch.setattr(disk, "_wrong_mount", lambda _: None)  # elsewhere it is a mount of its own
    guest = Guest(tmp_path, provider=provider)
    guest.announce()
    hook = guest.hook()
    guest.cycle(hook)
    for _ in range(3):
        guest.clock.pause(150)
        guest.cycle(hook)
    if signal_too:
        guest.cycle(hook, terminated=True)
    assert not guest.host.poweroff.exists()
    assert len(interruptions(guest.run)) >= 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("by_notice", [True, False])
def test_complaint_36_whenever_the_host_goes_the_next_boot_can_settle(
    tmp_path: Path, crash_points: CrashPoints, by_notice: bool
) -> None:
    """Cut at each write of the plan: one interruption, and the episode that was in flight is settled once."""

    def down(guest: Guest) -> None:
        running(guest)
        if by_notice:
            guest.announce()
        hook = guest.hook()
        guest.cycle(hook, terminated=not by_notice)

    points = crash_points.count(lambda: down(Guest(tmp_path / "whole")))
    assert points > 20
    for number in range(1, points + 1):
        guest = Guest(tmp_path / str(number))
        with crash_points.crash_at(number), suppress(Crash):
            down(guest)
        settled = [settle(guest), settle(guest)]
        assert settled == [1, 0]
        (item,) = (i for i in interruptions(guest.run).values() if i.counts)
        assert (guest.run.interruptions / item.opened.id / "settled.json").exists()
        assert len(read_lines(guest.run.settlement).records) == 1


def test_complaint_36_the_marker_is_first_and_copying_is_last(guest: Guest) -> None:
    """Nothing is signalled or told before the marker; nobody of the run lives when copying begins."""
    running(guest)
    guest.announce()
    guest.cycle(guest.hook())
    names = [step.name for step in guest.steps]
    assert names[0] == "marker"
    assert names.index("boot-resume") < names.index("SIGTERM") < names.index("kill")
    assert names.index("kill") < names.index("salvage") < names.index("final-pass")
    (marker,) = [step for step in guest.steps if step.name == "marker"]
    assert marker.ok


def running(guest: Guest) -> None:
    """One episode in flight, of a run that this life of the machine started."""
    folder = guest.run.work / "episodes" / "one"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log.txt").write_text("half an answer\n")
    (guest.run.work / "intended.json").write_text(json.dumps(["one", "two"]))


def settle(guest: Guest) -> int:
    """The next life of the machine settles; how many attempts that was."""
    plan = RunPlan("directory", "fresh_budget", executable="/bin/true")
    record = RunRecord("swe", "gpu-1", 1, guest.clock().wall, plan)
    survey = adapter("directory").survey(record, guest.run.work)
    guest.clock.pause(60)
    return settle_run(record, guest.run, survey, "next", guest.clock()).settled


@pytest.mark.parametrize("in_s", [17.3, 42.0, 118.5])
def test_complaint_38_the_budget_is_what_the_deadline_leaves(guest: Guest, in_s: float) -> None:
    """Neither the configured 60 s nor any other constant: the time of the notice, less the reserve."""
    asked: list[float] = []
    answering(guest, asked)
    guest.announce(in_s)
    guest.cycle(guest.hook())
    (item,) = interruptions(guest.run).values()
    assert item.opened.window_s == pytest.approx(in_s)
    plan = plan_for(in_s, guest.config.shutdown)
    assert plan.usable_s == pytest.approx(in_s - reserve_s(in_s))
    spent_s = guest.clock.at_s - 1000
    (deadline_s,) = asked
    assert deadline_s == pytest.approx(plan.final_by_s - spent_s, abs=0.3)


def test_complaint_40_either_trigger_alone_is_enough(tmp_path: Path) -> None:
    """The notice without a shutdown, and the shutdown without a notice, do the same; both together do it once."""
    done: list[list[str]] = []
    for name, notice, signal in (("a", True, False), ("b", False, True), ("c", True, True)):
        guest = Guest(tmp_path / name)
        answering(guest, [])
        if notice:
            guest.announce()
        hook = guest.hook()
        guest.cycle(hook, terminated=signal)
        if notice and signal:
            assert not guest.cycle(hook, terminated=True)
        (item,) = interruptions(guest.run).values()
        assert item.closed is not None
        done.append(steps(guest)[steps(guest).index("draining") :])
    assert done[0] == done[1] == done[2]
    assert "final-pass" in done[0]


FAILING = ("fact", "draining", "boot-resume", "SIGTERM", "kill", "salvage", "final-pass")


@pytest.mark.parametrize("name", FAILING)
def test_complaint_42_a_step_that_fails_stops_no_other(guest: Guest, name: str) -> None:
    """Each of them in turn; the record lists every step with its result."""
    hook = guest.hook(refusing if name == "fact" else None)
    blind = Unreadable("no control groups")
    if name == "draining":
        guest.host.run.rmdir()
        guest.host.run.write_text("a file where a folder should be")
    elif name == "salvage":
        running(guest)
        salvage = guest.run.interruptions / "2026-12-01T02-58-11-000-5e55-notice" / "salvage"
        salvage.parent.mkdir(parents=True)
        salvage.write_text("a file where a folder should be")
    elif name != "fact":
        unit = {"boot-resume": RESUME_UNIT, "final-pass": FOLLOWER_UNIT}.get(name, RUN_UNIT)
        guest.units.scripts[unit] = iter([blind] * 1000)
    guest.announce()
    guest.cycle(hook)
    (path,) = guest.run.interruptions.glob("*/steps.jsonl")
    found = {str(line["step"]): line["ok"] for line in read_lines(path).records}
    assert found[name] is False
    assert set(FAILING) <= set(found)
    (item,) = interruptions(guest.run).values()
    assert item.closed is not None


def refusing(opened: Opened) -> str:
    """A child that cannot be started."""
    raise OSError("spoteval: no such file")


@pytest.mark.runs("a step that hangs is left when its time is over, and that is real time")
def test_complaint_42_a_step_that_hangs_is_left_behind(guest: Guest) -> None:
    """Its result says so, and those after it come all the same."""
    over = threading.Event()

    def hanging(opened: Opened) -> str:
        over.wait(60)
        return "at last"

    guest.announce()
    try:
        guest.cycle(guest.hook(hanging))
    finally:
        over.set()
    (fact,) = [step for step in guest.steps if step.name == "fact"]
    assert not fact.ok
    assert fact.detail.startswith("not done within")
    assert [step.name for step in guest.steps][-1] == "close"


def test_complaint_42b_a_metadata_service_that_flaps_for_a_day_harms_nothing(guest: Guest) -> None:
    """Down and up 500 times: one line at each turn, no interruption, and the signal still works."""
    hook = guest.hook()
    turns = 500
    for _ in range(turns):
        for reading in (Unreadable("timeout:2s"), None):
            guest.notice = reading
            for _ in range(3):
                assert guest.cycle(hook)
                guest.clock.pause(DAY_S / turns / 6)
    assert guest.clock.at_s >= 1000 + DAY_S - 1
    assert interruptions(guest.run) == {}
    said = [line for line in guest.said if "decision=watch" in line]
    assert len(said) == 2 * turns
    guest.notice = Unreadable("timeout:2s")
    assert not guest.cycle(hook, terminated=True)
    (item,) = interruptions(guest.run).values()
    assert item.closed is not None


def test_complaint_42b_an_outage_of_a_day_is_said_once_an_hour(guest: Guest) -> None:
    """Not four times a second."""
    hook = guest.hook()
    guest.notice = Unreadable("timeout:2s")
    for _ in range(DAY_S // 60):
        guest.cycle(hook)
        guest.clock.pause(60)
    assert len([line for line in guest.said if "decision=watch" in line]) == 24


def test_complaint_42b_errors_between_good_readings_are_not_added_up() -> None:
    """A thousand in its life, of whatever kind: each is unreadable, and the next good one is good."""
    answers = iter([answer for _ in range(1001) for answer in (OSError("down"), "good")])

    def read() -> str:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    polled: Polled[str] = Polled("notices", read, 0.0)
    seen: list[object] = []
    for _ in range(2000):
        seen.append("down" if isinstance(polled.value, Unreadable) else polled.value)
        polled.look()
    assert seen == ["down", "good"] * 1000


@pytest.mark.parametrize("in_s", [120.0, 60.0, 30.0, 8.0, 5.0])
def test_complaint_44_who_does_not_hear_is_killed_inside_the_budget(
    guest: Guest, in_s: float
) -> None:
    """Its own signal first, KILL never later than half of the usable time; empty is seen, twice."""
    plan = plan_for(in_s, guest.config.shutdown)
    at: list[float] = []

    def deaf() -> Iterator[Reading[frozenset[int]]]:
        while guest.clock.at_s - 1000 < plan.own_by_s:
            yield frozenset([GONE])
        yield frozenset([GONE])  # as KILL finds it
        while True:
            at.append(guest.clock.at_s - 1000)
            yield frozenset()

    guest.units.scripts[RUN_UNIT] = deaf()
    guest.announce(in_s)
    guest.cycle(guest.hook())
    (item,) = interruptions(guest.run).values()
    assert item.closed is not None
    assert item.closed.killed == 1
    (kill,) = [step for step in guest.steps if step.name == "kill"]
    assert (kill.ok, kill.detail) == (True, "1 killed, empty")
    assert max(at) - min(at) >= 0.5
    assert max(at) <= plan.usable_s / 2 + 0.1
