"""What users of neighbouring tools complain of, by the numbers of that list, shown the other way round."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from restarter_story import GRANT, NOON, POLICY, PRICE, look, mark, now, stopped
from restarter_world import Host
from spoteval.clock import stamp
from spoteval.config.restarter import PollSettings
from spoteval.control.facts import ended_fact
from spoteval.files import encoded, parse_lines, read_lines
from spoteval.provider.contract import Observation, Reply, State
from spoteval.publication.keys import end_key, record_key
from spoteval.run import RunPlan, RunRecord
from spoteval.shape import Unreadable
from spoteval_agents.restarter.decide import decide, pause_s
from spoteval_agents.restarter.intent import answered, intend
from spoteval_agents.restarter.observe import observe

HOUR_S = 3600.0
NO_CAPACITY = Reply(ok=False, kind="capacity", detail="InsufficientInstanceCapacity")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Stopped, free, with a run to do."""
    return Host(tmp_path)


def starts(host: Host) -> int:
    """Start requests that went out."""
    return host.provider.calls.count("start")


# Restarter and control loop


def test_complaint_01_timeouts_start_nothing(host: Host) -> None:
    """A hundred looks time out: no request, one report; the first good look ends every clock of the error."""
    host.provider.is_now(State.RUNNING)
    host.fact("booted", seq=2)
    host.words(0, 30)
    before = host.book.state
    host.provider.answer = Unreadable("timeout:20s")
    assert set(host.words(*range(60, 6060, 60))) == {"unknown"}
    assert (host.provider.calls, host.told()) == ([], ["unknown"])
    host.provider.is_now(State.RUNNING)
    assert host.words(6060) == ["running"]
    assert (host.book.state.unknown, host.told()) == (None, ["unknown", "-unknown"])
    assert replace(host.book.state, owner=before.owner) == before


@pytest.mark.parametrize("sign", ["hold", "fact", "end"])
def test_complaint_02_a_run_that_ended_meanwhile_is_not_run_again(host: Host, sign: str) -> None:
    """The restarter was away when the run was complete: by its hold, its fact or its record it starts nothing."""
    if sign == "hold":
        host.place("end-20261201T115900-aaaa", ensure_stopped=True)
    elif sign == "fact":
        host.fact(ended_fact("swe"))
    else:
        host.store.put(end_key("swe"), encoded({"reason": "complete"}))
    host.live(24 * HOUR_S)
    assert host.provider.calls == []


def test_complaint_03_preempted_while_starting_is_one_later_start(host: Host) -> None:
    """STARTING and STOPPED again inside the window: the one request stays the one that is open."""
    host.live(61)
    for second, state in ((70, State.STARTING), (90, State.STOPPED), (110, State.STARTING)):
        host.clock.seconds = second
        host.provider.is_now(state, "preempted")
        host.live(second + 15)
    host.provider.is_now(State.STOPPED, "preempted")
    assert host.live(950) == ["start-pending"]
    assert starts(host) == 1
    host.live(1200)
    assert starts(host) == 2


@pytest.mark.parametrize("by", ["provider", "guest"])
def test_complaint_04_a_stop_before_resuming_is_a_preemption(host: Host, by: str) -> None:
    """Between RUNNING and the first episode: the provider's reason or the guest's notice says so; the run goes on."""
    host.provider.is_now(State.RUNNING)
    host.cycle(0)
    host.fact("booted", seq=2)
    host.cycle(60)
    if by == "guest":
        host.fact("notice", seq=2)
    host.provider.is_now(State.STOPPED, "preempted" if by == "provider" else None)
    host.cycle(120)
    (event,) = [event for event in host.events() if event.kind == "stopped"]
    assert event.reason == "preempted"
    assert host.live(200) == ["grace", "start", "start-pending"]
    assert host.book.state.run is not None
    assert host.book.state.run.over is None


def test_complaint_08_only_the_provider_says_that_it_stands_still(host: Host) -> None:
    """No guest was ever reached, and none is asked: STOPPED and the grace are enough, within one poll."""
    host.provider.is_now(State.RUNNING)
    host.live(HOUR_S)
    host.provider.is_now(State.STOPPED)
    since_s = host.clock.seconds
    assert host.live(since_s + 61) == ["grace", "start"]


def test_complaint_09_a_stop_is_seen_within_one_poll(host: Host) -> None:
    """60 s at most; the event says when it was observed, and which start it ended."""
    obs = Observation(State.RUNNING, billed=True, last_start=NOON)
    host.provider.answer = obs
    host.live(HOUR_S)
    host.provider.answer = replace(obs, state=State.STOPPED, billed=False)
    stopped_s = host.clock.seconds - 59
    host.live(stopped_s + 60)
    event = next(event for event in host.events() if event.kind == "stopped")
    assert (event.at - NOON).total_seconds() - stopped_s <= 60
    assert event.detail["last_start"] == stamp(NOON)


@pytest.mark.parametrize("comes", [True, False])
def test_complaint_12_observation_decides_not_the_answer(host: Host, comes: bool) -> None:
    """An internal error and then RUNNING is a start; an internal error and nothing is a capacity failure."""
    host.provider.reply = Reply(ok=False, kind="unknown", detail="internal server error")
    host.live(100)
    if comes:
        host.provider.is_now(State.RUNNING)
    host.live(1000)
    kinds = host.kinds()
    assert ("running" in kinds, "capacity-failure" in kinds) == (comes, not comes)
    assert starts(host) == 1


def test_complaint_14_a_start_that_hangs_has_a_deadline(host: Host) -> None:
    """STARTING for 49 min: after 15 it is a failed start; the instance is not waited for without a word."""
    host.live(61)
    host.provider.is_now(State.STARTING)
    host.live(49 * 60)
    failed = next(event for event in host.events() if event.kind == "capacity-failure")
    assert (failed.at - NOON).total_seconds() == pytest.approx(960, abs=11)
    assert host.told() == ["start-stuck"]


def test_complaint_16_a_thousand_capacity_failures_later_it_still_tries() -> None:
    """With the failed-starts rule off: at an interval that is capped near one failed start."""
    policy = replace(
        POLICY,
        poll=PollSettings(in_motion_s=60, grace_s=0, start_window_s=60, backoff_max_s=80),
        grant=replace(GRANT, failed_starts_s=None),
    )
    asked: list[float] = []
    state, second = stopped(-60), 0.0
    while len(asked) < 1001:
        seen = look(at_s=second, price=PRICE)
        state, _ = observe(state, seen, policy, now(second))
        decision = decide(state, seen, policy, now(second))
        state, _ = intend(decision, state, seen, policy, now(second))
        if decision.word == "start":
            asked.append(second)
            state, _ = answered("start", state, NO_CAPACITY, policy, now(second))
        second += pause_s(decision, state, policy)
    assert state.failures == 1000
    assert max(later - at for at, later in pairwise(asked)) <= 60 + 80 + 2 * 60


def test_complaint_17_one_look_and_one_start_a_poll(host: Host) -> None:
    """Not one request more, whatever is answered; a limit of requests is its own kind and widens the interval."""
    looks: list[float] = []
    host.provider.at_observe = lambda: looks.append(host.clock.seconds)
    host.provider.reply = Reply(ok=False, kind="rate", detail="RequestLimitExceeded")
    host.live(6 * HOUR_S)
    assert len(looks) == len(set(looks))
    asked = [event.at for event in host.events() if event.kind == "start-asked"]
    apart = [(later - at).total_seconds() for at, later in pairwise(asked)]
    assert min(apart) >= 240
    refused = [event.evidence for event in host.events() if event.kind == "start-refused"]
    assert set(refused) == {"rate"}
    assert "capacity-failure" not in host.kinds()


def preempted_after(host: Host, up_s: float) -> None:
    """From now on each start comes to RUNNING and is preempted so many seconds later."""
    began = [0.0]

    def start() -> None:
        began[0] = host.clock.seconds
        host.provider.is_now(State.RUNNING)

    def weather() -> None:
        is_up = host.provider.answer == Observation(State.RUNNING, billed=True)
        if is_up and host.clock.seconds - began[0] >= up_s:
            host.provider.is_now(State.STOPPED, "preempted")

    host.provider.at_start, host.provider.at_observe = start, weather


def test_complaint_18_an_oversubscribed_pool_ends_in_a_hold(host: Host) -> None:
    """Launch and loss for hours: pauses first, then one hold with its reason and one alert."""
    preempted_after(host, 240)
    assert host.live(12 * HOUR_S)[-2:] == ["loop-guard", "held"]
    assert starts(host) == 8
    (hold,) = host.book.state.holds
    assert hold.hold.reason.startswith("8 runs in a row ended within 10 min of RUNNING")
    assert host.told() == [hold.hold.id]


def test_complaint_19_preempted_every_half_minute(host: Host) -> None:
    """The line names the preemption, the count and the window, and when it tries again."""
    preempted_after(host, 30)
    host.live(1800)
    line = host.cycle().line()
    assert line.startswith(
        "decision=loop-guard instance=gpu-1 state=STOPPED short_runs=5 limit=5 short_run_s=600"
        " cause=preempted pause_s=1800"
    )
    assert "5 runs in a row ended within 10 min of RUNNING (last: preempted); next try in" in line
    host.live(12 * HOUR_S)
    assert host.cycle().word == "held"


@pytest.mark.parametrize("proved", [True, False])
def test_complaint_21_an_idle_stop_is_not_undone(host: Host, proved: bool) -> None:
    """The idle guard's hold holds; without it, that the guest switched itself off does."""
    host.provider.is_now(State.RUNNING)
    host.live(HOUR_S)
    if proved:
        host.place("idle-20261201T130000-aaaa", ensure_stopped=True)
    host.provider.is_now(State.STOPPED, "guest")
    host.live(24 * HOUR_S)
    assert host.provider.calls == []
    event = next(event for event in host.events() if event.kind == "stopped")
    assert event.reason == "guest"


@pytest.mark.parametrize("how", ["file", "store", "console"])
def test_complaint_23_what_a_person_stopped_stays_stopped(host: Host, how: str) -> None:
    """By a hold, or by the provider's word that a person did it; the event is the operator's."""
    host.provider.is_now(State.RUNNING)
    host.live(HOUR_S)
    if how == "file":
        host.paths.hold.write_text("tp 4 -> 8")
    elif how == "store":
        host.place()
    host.provider.is_now(State.STOPPED, "user")
    host.live(24 * HOUR_S)
    assert host.provider.calls == []
    event = next(event for event in host.events() if event.kind == "stopped")
    assert (event.source, event.reason) == ("operator", "user")


def test_complaint_23_a_stop_that_was_held_needs_one_release(host: Host) -> None:
    """`spoteval stop`, then `spoteval hold release`: it starts within a minute, and holds nothing of its own."""
    host.provider.is_now(State.RUNNING)
    host.live(HOUR_S)
    host.place()
    host.provider.is_now(State.STOPPED, "user")
    host.live(2 * HOUR_S)
    host.release_all()
    assert "start" in host.live(2 * HOUR_S + 120)


def test_complaint_24_a_404_that_lasts_is_gone_and_one_that_does_not_is_nothing(host: Host) -> None:
    """Two in a row are forgotten; three over three minutes are told and held under their own name."""
    gone = Observation(State.GONE)
    for second in (0, 60):
        host.provider.answer = gone
        assert host.words(second) == ["unknown"]
    host.provider.is_now(State.STOPPED)
    assert host.words(120, 180) == ["grace", "start"]
    host.provider.answer = gone
    assert host.words(240, 300, 360, 420, 480) == ["unknown", "unknown", "unknown", "gone", "held"]
    assert [topic.split("-")[0] for topic in host.told()] == ["gone"]


# Zombie billing and price


def test_complaint_25_stopped_and_still_billed_is_told_with_its_cost(host: Host) -> None:
    """Once when it begins and once when it ends, with the cost of an hour; STOPPED is the provider's word alone."""
    host.provider.is_now(State.RUNNING)
    host.cycle(0)
    host.words(60)
    host.place("operator-1", ensure_stopped=True, stop_after_s=0)
    lines = [host.cycle(second).line() for second in (120, 180, 240)]
    assert all("state=RUNNING" in line for line in lines)
    host.provider.answer = Observation(State.STOPPED, billed=True)
    host.live(6 * HOUR_S)
    told = [event.reason for event in host.events() if event.kind == "needs_you"]
    assert "STOPPED for 60 s and billed all the same, at 11.60 USD/h" in told
    assert host.told().count("billed") == 1
    host.provider.is_now(State.STOPPED)
    host.live(7 * HOUR_S)
    assert host.told().count("-billed") == 1


def test_complaint_32_no_price_no_start_under_a_cap(host: Host) -> None:
    """The cap is held against what is read now, never against what was read once."""
    host.live(70)
    host.provider.answer = Observation(State.STOPPED, billed=False)
    host.provider.price_answer = Unreadable("timeout:10s")
    words = host.live(3000)
    assert words[-1] == "price-unknown"
    assert starts(host) == 1


def test_complaint_33_above_the_cap_nothing_is_started_and_nothing_counted(host: Host) -> None:
    """The backoff stays where it was; at the cap it starts."""
    host.provider.price_answer = replace(PRICE, amount=14.01)
    assert host.live(24 * HOUR_S) == ["grace", "price"]
    assert (host.provider.calls, host.book.state.failures, host.told()) == ([], 0, [])
    host.provider.price_answer = replace(PRICE, amount=14.0)
    assert host.live(24 * HOUR_S + 120)[0] == "start"


@pytest.mark.parametrize("amount", [1.0, 11.6, 99.0])
def test_complaint_34_no_cause_is_inferred_from_a_price(host: Host, amount: float) -> None:
    """Whatever it costs before and after: a stop that nobody explains is unknown."""
    host.live(70)
    host.provider.is_now(State.RUNNING)
    host.live(200)
    host.provider.is_now(State.STOPPED)
    host.provider.price_answer = replace(PRICE, amount=amount)
    host.live(300)
    event = next(event for event in host.events() if event.kind == "stopped")
    assert (event.reason, event.evidence) == ("unknown", "none")


# Local state and clocks

HOST_FILE = """
[host]
role = "restarter"
[store]
url = "file://{root}/store"
[instance.gpu-1]
provider = "local"
id = "gpu-1"
cloud = "{root}/cloud"
"""


@pytest.mark.runs("kill -9 of the process itself")
def test_complaint_71_a_killed_restarter_blocks_no_other(tmp_path: Path) -> None:
    """No pid is kept in any file; the kernel frees the lock, and the next process starts at once."""
    (tmp_path / "store").mkdir()
    (tmp_path / "config.toml").write_text(HOST_FILE.format(root=tmp_path))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "SPOTEVAL_CONFIG": str(tmp_path / "config.toml"),
        "SPOTEVAL_STATE_DIRECTORY": str(tmp_path / "state"),
    }
    code = "from spoteval_agents.restarter.agent import main; main()"
    for end in (signal.SIGKILL, signal.SIGTERM):
        child = subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True
        )
        assert child.stderr is not None
        assert "decision=unknown instance=gpu-1" in child.stderr.readline()
        child.send_signal(end)
        assert child.wait(20) == (-signal.SIGKILL if end is signal.SIGKILL else 0)
        child.stderr.close()
    written = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert not [path for path in written if str(child.pid) in path.read_text()]


def test_complaint_72_a_torn_event_costs_at_most_itself(host: Host) -> None:
    """The log is cut at every byte of its last two records; what is appended then is whole."""
    host.words(0, 60, 70)
    whole = host.paths.events.read_bytes()
    records = parse_lines(whole).records
    tail = len(b"".join(line + b"\n" for line in whole.splitlines()[-2:]))
    host.paths.hold.write_text("why")
    state = host.paths.state.read_bytes()
    for cut in range(len(whole) - tail, len(whole) + 1):
        host.paths.events.write_bytes(whole[:cut])
        host.paths.state.write_bytes(state)
        host.restart()
        host.cycle(80)
        found = read_lines(host.paths.events).records
        kept = parse_lines(whole[:cut]).records
        assert found[: len(kept)] == kept
        assert len(kept) >= len(records) - 2
        assert [item["kind"] for item in found].count("hold-seen") == 1
        host.paths.decisions.unlink(missing_ok=True)


@pytest.mark.parametrize("damage", [b"", b"\0" * 4096])
def test_complaint_74_zeros_in_the_place_of_the_memory_are_no_memory(
    host: Host, damage: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said in one line, the counters come back from the events, and one window passes before any start."""
    host.live(200)
    host.paths.state.write_bytes(damage)
    host.restart()
    said = capsys.readouterr().err
    assert "rebuilt from events; one start window passes before any start" in said
    assert "Traceback" not in said
    assert host.book.state.starts == 1
    assert host.live(1000) == ["recovering"]
    assert starts(host) == 1


@pytest.mark.parametrize("wrong_s", [7200.0, -7200.0])
def test_complaint_76_a_wall_clock_that_jumps_fires_nothing(host: Host, wrong_s: float) -> None:
    """Two hours forth or back, in grace, in an open window, in backoff, under a hold with its grace: nothing ends
    sooner or later for it."""
    history = {0: "grace", 50: "grace", 60: "start", 900: "start-pending", 961: "backoff"}
    for second, word in history.items():
        assert host.words(second) == [word]
        host.clock.wrong_s = wrong_s if host.clock.wrong_s == 0 else 0.0
    host.place("operator-1", ensure_stopped=True)
    host.provider.is_now(State.RUNNING)
    assert host.words(1000) == ["held"]
    host.clock.wrong_s = wrong_s
    assert host.words(1599, 1600) == ["held", "stop"]


def test_complaint_76_a_deadline_waits_for_a_clock_that_may_be_believed(host: Host) -> None:
    """Past on a clock that is not synchronised is not past."""
    plan = RunPlan("inspect", "fresh_budget", deadline=NOON + timedelta(hours=1))
    record = RunRecord("swe", "gpu-1", 1, NOON, plan)
    host.store.put(record_key("swe", 1), encoded(record.record()))
    host.provider.is_now(State.RUNNING)
    host.clock.wrong_s, host.clock.synced = 7200.0, False
    host.provider.is_now(State.STOPPED)
    assert host.words(0, 60) == ["grace", "start"]
    host.clock.synced = True
    assert json.loads(host.paths.run.read_text())["name"] == "swe"
    host.provider.is_now(State.STOPPED)
    assert host.words(1000) == ["run-over"]
    assert mark(0).wall == NOON
