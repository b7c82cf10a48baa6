"""Histories in which a restarter could start wrongly, never start, never stop, or never tell; to their ends."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from restarter_story import GRANT, POLICY
from restarter_world import Host
from spoteval.config.restarter import PollSettings
from spoteval.control.facts import ended_fact
from spoteval.provider.contract import Reply, State

WINDOW_S, GRACE_S = POLICY.poll.start_window_s, POLICY.poll.grace_s
HOUR_S = 3600.0


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Stopped, free, with a run to do."""
    return Host(tmp_path)


def test_history_a_hold_placed_inside_a_start_window(host: Host) -> None:
    """The start that is under way comes to RUNNING under the hold and is stopped after the hold's grace; once lifted,
    one new start, and never two requests in one window (I1, I2, I5)."""
    host.live(GRACE_S + 1)
    assert host.provider.calls == ["start"]
    host.place("operator-1", ensure_stopped=True, stop_after_s=300)
    assert host.live(120) == ["held"]
    host.provider.is_now(State.RUNNING)
    assert host.live(350) == ["held"]
    assert host.live(450)[-2:] == ["stop", "held"]
    assert host.provider.calls == ["start", "stop"]
    host.provider.is_now(State.STOPPED, "user")
    host.live(700)
    host.release_all()
    assert host.live(900) == ["start", "start-pending"]
    assert host.provider.calls == ["start", "stop", "start"]
    stopped = [event for event in host.events() if event.kind == "stopped"]
    assert [event.evidence for event in stopped] == ["own-stop"]
    assert host.told() == []


def test_history_a_hold_lifted_inside_the_same_window_starts_nothing_twice(host: Host) -> None:
    """The window that was open is still open."""
    host.live(GRACE_S + 1)
    host.place()
    host.live(300)
    host.release_all()
    assert host.live(GRACE_S + WINDOW_S - 10) == ["start-pending"]
    assert host.provider.calls == ["start"]


def test_history_starting_for_ever(host: Host) -> None:
    """The window closes as a failed start; a whole window in STARTING later it is stuck: one stop request, one
    report. When the provider lets go of it, the backoff, and the next start (I2, I6, I11)."""
    host.live(GRACE_S + 1)
    host.provider.is_now(State.STARTING)
    assert host.live(WINDOW_S + 3 * HOUR_S) == ["starting", "start-stuck"]
    assert host.provider.calls == ["start", "stop"]
    assert host.kinds().count("capacity-failure") == 1
    assert host.told() == ["start-stuck"]
    host.provider.is_now(State.STOPPED, "user")
    words = host.live(host.clock.seconds + 300)
    assert words == ["grace", "start", "start-pending"]
    assert host.provider.calls == ["start", "stop", "start"]
    assert host.told() == ["start-stuck", "-start-stuck"]


def test_history_a_rule_hold_lifted_repeatedly(host: Host) -> None:
    """Each time the rule begins anew: another 45 min of tries, another hold, another report. It neither starts
    nothing for ever nor tries for ever (I5, I11)."""
    host.provider.reply = Reply(ok=False, kind="capacity", detail="no capacity")
    for round_ in (1, 2, 3):
        before = len(host.provider.calls)
        words = host.live(host.clock.seconds + 2 * HOUR_S)
        assert words[-2:] == ["stop-rule", "held"], round_
        assert 2 <= len(host.provider.calls) - before <= 4
        (name,) = host.release_all()
        assert name.startswith("rule-failed_starts-")
        assert host.live(host.clock.seconds + GRACE_S + 11)[-1] in ("start", "start-pending")
    assert [topic[:19] for topic in host.told()] == [
        "rule-failed_starts-",
        "-rule-failed_starts",
    ] * 3
    assert host.kinds().count("stop-asked") == 0


def test_history_a_rule_tripping_in_an_open_window(host: Host) -> None:
    """45 min are over while a request is open: it is given its window. It comes to RUNNING, and nothing trips."""
    host.provider.reply = Reply(ok=False, kind="capacity", detail="no capacity")
    host.live(2500)
    assert host.book.state.ask is not None
    assert host.book.state.failing_since is not None
    assert host.live(2900) == ["start-pending"]
    assert 2900 - host.book.state.failing_since.mono_s > 2700
    host.provider.is_now(State.RUNNING)
    assert host.live(3000) == ["running"]
    assert host.told() == []
    assert host.book.state.failing_since is None


def test_history_a_rule_that_tripped_in_an_open_window_holds_when_it_closes(host: Host) -> None:
    """It does not come: the hold is placed at the close, and not before."""
    host.provider.reply = Reply(ok=False, kind="capacity", detail="no capacity")
    words = host.live(2 * HOUR_S)
    assert words[-3:] == ["start-pending", "stop-rule", "held"]
    closed = [event.at for event in host.events() if event.kind == "capacity-failure"]
    held = [event.at for event in host.events() if event.kind == "hold-seen"]
    assert held == closed[-1:]


def test_history_a_run_over_with_both_enders_dead(host: Host) -> None:
    """Neither end-handler nor idle-guard switch it off: two hours after the end the restarter holds it, and ten
    minutes later stops it; it is told and never started again (I7)."""
    host.provider.is_now(State.RUNNING)
    host.fact("booted", seq=1)
    host.live(HOUR_S)
    host.fact(ended_fact("swe"))
    assert host.live(HOUR_S + 7140) == ["running"]
    assert host.live(HOUR_S + 7300) == ["running", "over-running", "held"]
    assert host.provider.calls == []
    assert host.live(HOUR_S + 7930) == ["held", "stop", "held"]
    assert host.provider.calls == ["stop"]
    host.provider.is_now(State.STOPPED, "user")
    assert host.live(HOUR_S + 20_000) == ["held"]
    host.release_all()
    assert host.live(HOUR_S + 30_000) == ["run-over"]
    assert host.provider.calls == ["stop"]
    assert [topic[:12] for topic in host.told()] == ["over-running", "-over-runnin"]


def test_history_ensure_stopped_during_a_store_outage(host: Host) -> None:
    """The guest's hold was seen, then the store goes away: the instance is stopped all the same, stays off, and
    starts only once the store is back and the hold is lifted (I1, I5, I7)."""
    host.provider.is_now(State.RUNNING)
    host.place("end-1", ensure_stopped=True)
    host.live(120)
    away = host.store_root.with_name("away")
    host.store_root.rename(away)
    assert host.live(590) == ["held"]
    assert host.live(700) == ["stop", "held"]
    assert host.provider.calls == ["stop"]
    host.provider.is_now(State.STOPPED)
    assert host.live(3 * HOUR_S) == ["held"]
    host.restart()
    assert host.live(4 * HOUR_S) == ["held"]
    assert host.told() == ["store"]
    away.rename(host.store_root)
    assert host.live(4 * HOUR_S + 120) == ["held"]
    host.release_all()
    assert host.live(4 * HOUR_S + 240)[0] == "start"
    assert host.provider.calls == ["stop", "start"]
    assert host.told() == ["store", "-store"]


def test_history_a_hold_that_nobody_saw_during_a_store_outage(host: Host) -> None:
    """Placed while the restarter could not look: nothing is started, since a hold may stand."""
    away = host.store_root.with_name("away")
    host.store_root.rename(away)
    assert host.live(HOUR_S) == ["hold-unknown"]
    away.rename(host.store_root)
    host.place("operator-1")
    assert host.live(2 * HOUR_S) == ["held"]
    assert (host.provider.calls, host.told()) == ([], ["hold-unknown", "-hold-unknown"])


def test_history_stops_that_the_provider_undoes(host: Host) -> None:
    """Three times it is stopped and comes back: then a person is named, and nothing is asked any more (I6)."""
    host.provider.is_now(State.RUNNING)
    host.place("operator-1", ensure_stopped=True, stop_after_s=0)
    for number in (1, 2, 3):
        host.live(number * HOUR_S)
        host.provider.is_now(State.STOPPED, "user")
        host.live(number * HOUR_S + 180)
        host.provider.is_now(State.RUNNING)
    asked = len(host.provider.calls)
    assert host.live(9 * HOUR_S) == ["stop-undone"]
    assert len(host.provider.calls) == asked
    assert host.told().count("stop-undone") == 1


def test_history_the_guard_of_a_loop(tmp_path: Path) -> None:
    """Preempted half a minute after each start: five runs, then pauses of 30, 60 and 120 min, then a hold; with the
    hold lifted the row begins anew."""
    host = Host(tmp_path, replace(POLICY, poll=PollSettings(start_window_s=120)))
    host.provider.at_start = lambda: host.provider.is_now(State.RUNNING)

    def weather() -> None:
        up_s = host.clock.seconds - began[0]
        if host.provider.answer.state is State.RUNNING and up_s >= 30:  # type: ignore[union-attr]
            host.provider.is_now(State.STOPPED, "preempted")

    began = [0.0]

    def start() -> None:
        began[0] = host.clock.seconds
        host.provider.is_now(State.RUNNING)

    host.provider.at_start, host.provider.at_observe = start, weather
    words = host.live(10 * HOUR_S)
    assert words[-2:] == ["loop-guard", "held"]
    assert host.provider.calls == ["start"] * 8
    starts = [event.at for event in host.events() if event.kind == "start-asked"]
    apart = [(later - at).total_seconds() for at, later in pairwise(starts)]
    assert [round(seconds / 60) for seconds in apart] == [2, 2, 2, 2, 31, 61, 121]
    (name,) = host.release_all()
    assert name.startswith("loop-guard-")
    assert "start" in host.live(host.clock.seconds + 180)
    assert host.told() == [name, f"-{name}"]


def test_history_grant_and_run_of_another_restarter(tmp_path: Path) -> None:
    """Two restarters at one instance: the owner starts, the other says so in every line and asks for nothing."""
    host = Host(tmp_path)
    other = Host(tmp_path / "other", replace(POLICY, grant=GRANT, identity="0b-other"))
    other.world = replace(other.world, store=host.store)
    other.book.state = replace(other.book.state, owner=None)
    host.live(70)
    assert set(other.live(6000)[1:]) == {"not-owner"}
    assert (host.provider.calls, other.provider.calls) == (["start"], [])
