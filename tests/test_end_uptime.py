"""A deadline without a clock that is right: a longest time of being up, over boots."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hook_world import WALL, Guest
from spoteval.clock import Now
from spoteval.control.completeness import Count
from spoteval.control.uptime import Uptime, counted, is_due, keep_uptime, read_uptime
from spoteval.files import read_lines, write_record
from spoteval.run import RunPlan, RunRecord
from spoteval_agents.end_handler.decide import decide
from spoteval_agents.end_handler.seen import Policy, RunSeen, Seen, State
from test_end_cycle import Ending

NOW = Now(WALL, 1000.0, "boot-1", synced=False)
POLICY = Policy(
    power_off=True, publish_within_s=1800.0, every_s=60.0, kill_switch="/d/holds/kill-switch"
)


@pytest.mark.parametrize(
    ("limit_s", "up_s", "over"), [(3600.0, 3599.9, False), (3600.0, 3600.0, True)]
)
def test_at_its_limit_of_being_up_a_run_is_over(limit_s: float, up_s: float, over: bool) -> None:
    """While it is not, the line says what is left."""
    run = RunSeen("swe", Count(1, 3), deadline=WALL, limit_s=limit_s, up_s=up_s)
    plan = decide(Seen("5e55", run=run), State(), POLICY, NOW)
    assert (plan.act == "intent") is over
    if not over:
        assert "the deadline counts as 0 s more of being up" in plan.decision.line()


def test_a_right_clock_goes_before_the_count() -> None:
    """Neither ends a run early for having been up long, nor keeps one on for having been up briefly."""
    early = RunSeen(
        "swe", Count(1, 3), deadline=WALL + timedelta(hours=1), limit_s=60.0, up_s=999.0
    )
    synced = replace(NOW, synced=True)
    assert decide(Seen("5e55", run=early), State(), POLICY, synced).act is None
    late = replace(early, deadline=WALL, limit_s=9e9)
    assert decide(Seen("5e55", run=late), State(), POLICY, synced).act == "intent"


@pytest.mark.parametrize("changes", [{"limit_s": None}, {"up_s": None}, {"limit_s": 0.0}])
def test_without_a_limit_nobody_knows(changes: dict[str, float | None]) -> None:
    """As for a run that was made under a clock of another year."""
    run = replace(RunSeen("swe", Count(1, 3), deadline=WALL, limit_s=1.0, up_s=5.0), **changes)  # type: ignore[arg-type]
    plan = decide(Seen("5e55", run=run), State(), POLICY, NOW)
    assert plan.act is None
    assert "nobody knows whether the deadline is past" in plan.decision.line()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 400)), max_size=30))
def test_the_count_never_falls_and_is_the_time_within_sessions(
    steps: list[tuple[int, int]],
) -> None:
    """Each step is a look in some session, so many seconds after the last one."""
    up, at_s, expected, session = None, 0.0, 0.0, ""
    for number, after_s in steps:
        at_s += after_s
        name = f"s{number}"
        expected += after_s if name == session else 0.0
        before = up.total_s if up is not None else 0.0
        up, session = counted(up, name, replace(NOW, mono_s=at_s)), name
        assert up.total_s >= before
        assert up.total_s == pytest.approx(expected)


def test_the_count_is_kept_every_five_minutes_and_a_damaged_one_begins_anew(tmp_path: Path) -> None:
    """At five minutes, not before; and at once in a new session."""
    up = Uptime("s1", 0.0, 10.0, 20.0)
    assert is_due(None, up)
    assert is_due(up, Uptime("s2", 0.0, 30.0, 0.0))
    assert not is_due(up, replace(up, here_s=319.9))
    assert is_due(up, replace(up, here_s=320.0))
    keep_uptime(tmp_path / "swe.json", up)
    assert read_uptime(tmp_path / "swe.json") == up
    (tmp_path / "swe.json").write_bytes(b"\0" * 40)
    assert read_uptime(tmp_path / "swe.json") is None


def test_over_three_boots_with_a_wrong_clock_the_machine_goes_off(tmp_path: Path) -> None:
    """Three hours from making to deadline; each boot is up for 70 min; the clock is never right."""
    made = datetime(2026, 12, 1, tzinfo=UTC)
    offs = []
    for number in range(3):
        guest = Guest(tmp_path)
        guest.clock.synced = False
        ending = Ending(guest, session=f"boot{number}", deadline=made + timedelta(hours=3))
        write_record(
            guest.run.record,
            RunRecord(
                "swe",
                "gpu-1",
                1,
                made,
                RunPlan("directory", "fresh_budget", deadline=made + timedelta(hours=3)),
            ).record(),
        )
        end_s = guest.clock.at_s + 70 * 60
        while guest.clock.at_s < end_s and not guest.host.poweroff.exists():
            guest.clock.pause(max(0.5, ending.handler.cycle(guest.clock())))
        offs.append(guest.host.poweroff.exists())
    assert offs == [False, False, True]
    kinds = [record["kind"] for record in read_lines(guest.run.events).records]
    assert kinds[-2:] == ["end", "end-stop"]
