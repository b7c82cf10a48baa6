"""Cost by parts: every billed hour is in one of them."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from event_story import at, told
from spoteval.cli.cost import cost as command
from spoteval.episode import Attempt, Outcome
from spoteval.event import Event
from spoteval.placement.cost import (
    FAILED,
    IDLE,
    LOST,
    NODE_PARTS,
    RESTARTER,
    STARTUP,
    STOPPED,
    USEFUL,
    Cost,
    Paid,
    Rates,
    cost,
    segments,
)

HOUR = 3600
RATES = Rates(stopped=0.2, restarter=0.02)


def stop(seconds: float, cause: str = "preempted", **detail: object) -> Event:
    """A stop with its cause."""
    return Event(at(seconds), "stopped", "restarter", "gpu-1", reason=cause, detail=detail)


def attempt(low: float, high: float, *, finished: bool = True) -> Attempt:
    """One attempt between two moments, in hours."""
    outcome = Outcome.COMPLETED if finished else Outcome.PREEMPTION_INTERRUPTED
    one = Attempt(f"{low}-{high}", f"{low}-{high}", outcome, cut=not finished)
    return replace(one, started=at(low * HOUR), ended=at(high * HOUR))


STORY = (
    *(told(0, "start-asked", price=10.0), told(360, "running"), told(HOUR, "first-episode")),
    stop(5 * HOUR),
    *(told(6 * HOUR, "start-asked", price=12.0), told(6 * HOUR, "running"), stop(6.5 * HOUR)),
    *(told(7 * HOUR, "start-asked", price=12.0), told(7 * HOUR, "running")),
    *(told(8 * HOUR, "first-episode"), stop(10 * HOUR, "guest")),
)
ATTEMPTS = (
    *(attempt(1, 3), attempt(1, 3), attempt(3, 4.5), attempt(3, 5, finished=False)),
    *(attempt(8, 9), attempt(8, 9)),
)


def known(
    attempts: tuple[Attempt, ...] | None = ATTEMPTS, events: tuple[Event, ...] = STORY
) -> Cost:
    """Of the story."""
    found = cost({"gpu-1": segments(events)}, attempts, RATES)
    assert found is not None
    return found


def test_every_hour_has_its_part() -> None:
    """Startup, a restart that failed, work, what was lost of it, idle, stopped."""
    hours = known().hours
    lost = 4 * 2 / 7.5  # four busy hours; two of seven and a half slot-hours were cut
    assert hours[STARTUP] == pytest.approx(0.9 + 1)
    assert hours[FAILED] == 0.5
    assert hours[LOST] == pytest.approx(lost)
    assert hours[USEFUL] == pytest.approx(4 - lost + 1)
    assert hours[IDLE] == pytest.approx(1)
    assert hours[STOPPED] == pytest.approx(10 - 4.9 - 0.5 - 3)
    assert hours[RESTARTER] == pytest.approx(10)


def test_the_range() -> None:
    """From RUNNING at the lowest price, from the start call at the highest; what is beside it is in all three."""
    found = known()
    beside = 0.2 * found.hours[STOPPED] + 0.02 * 10
    assert found.low == pytest.approx(10 * 8.4 + beside)
    assert found.recorded == pytest.approx(10 * 4.9 + 12 * 3.5 + beside)
    assert found.high == pytest.approx(12 * 8.5 + beside)
    assert (found.completed, found.preemptions) == (5, 2)
    assert found.each(found.low) == pytest.approx(found.low / 5)


def test_without_episodes_nothing_is_per_episode() -> None:
    """All time after ready is useful then."""
    found = known(None)
    assert (found.completed, found.each(1.0)) == (None, None)
    assert found.hours[USEFUL] == pytest.approx(6)


def test_drills_cost_nothing_here_and_unpriced_hours_are_said() -> None:
    """Neither is hidden in a sum."""
    drilled = (told(20 * HOUR, "start-asked", price=50.0), told(20 * HOUR, "running"))
    drill = (*drilled, stop(21 * HOUR, rehearsal=True))
    free = (told(22 * HOUR, "start-asked"), told(22 * HOUR, "running"), stop(23 * HOUR))
    found = known(ATTEMPTS, (*STORY, *drill, *free))
    assert max(price.amount for price in found.prices) == 12.0
    assert found.unpriced_h == pytest.approx(1.0)
    assert cost({"gpu-1": segments(free)}, None, RATES) is None


def test_an_attempt_without_an_end_ends_with_its_machine() -> None:
    """What a power cut took has no end on record."""
    open_ = replace(attempt(3, 5, finished=False), ended=None)
    assert known((*ATTEMPTS[:3], open_, *ATTEMPTS[4:])).hours == pytest.approx(known().hours)


TIMES = st.lists(st.tuples(st.floats(0, 12), st.floats(0, 3), st.booleans()), max_size=12)


@given(TIMES)
def test_parts_add_up(times: list[tuple[float, float, bool]]) -> None:
    """To the billed hours, none below zero, whatever the attempts claim."""
    attempts = tuple(attempt(low, low + long, finished=done) for low, long, done in times)
    found = known(attempts)
    assert math.fsum(found.hours[part] for part in NODE_PARTS) == pytest.approx(8.4)
    assert min(found.hours.values()) > -1e-9
    assert found.low <= found.recorded + 1e-9
    assert math.fsum(found.parts.values()) == pytest.approx(found.recorded)


def test_a_machine_that_is_still_up_is_billed_until_the_log_ends() -> None:
    """And is no preemption."""
    (one,) = segments((told(0, "start-asked", price=1.0), told(0, "running")), at(2 * HOUR))
    assert (one.hours, one.preempted, one.working) == (2.0, False, None)


def test_a_pulled_run_alone_has_hours_and_no_price() -> None:
    """By its boots and markers; a cut that left no marker is billed until the last sign."""
    marker = Event(at(2 * HOUR), "interrupted", "shutdown-hook", "gpu-1", "s1", reason="preempted")
    events = (
        *(told(0, "booted", "s1"), told(HOUR, "first-episode", "s1"), marker),
        *(told(3 * HOUR, "booted", "s2"), told(4 * HOUR, "first-episode", "s2")),
        *(told(6 * HOUR, "booted", "s3"), told(7 * HOUR, "end-stop", "s3")),
    )
    found = segments(events, None, Paid(10.0, "USD", "typed", None))
    assert [one.hours for one in found] == [2.0, 1.0, 1.0]
    assert [one.preempted for one in found] == [True, True, False]
    assert [one.price.amount for one in found if one.price is not None] == [10.0] * 3


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The restarter's log and a pulled run."""
    monkeypatch.setenv("SPOTEVAL_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.delenv("SPOTEVAL_CONFIG")
    host, run = tmp_path / "host", tmp_path / "run"
    for place in (host, run):
        place.mkdir()
    lines = [json.dumps(event.record()) + "\n" for event in STORY]
    (host / "events.jsonl").write_text("".join(lines))
    done = [one for one in ATTEMPTS if not one.cut]
    cut = [one for one in ATTEMPTS if one.cut]
    (run / "finished.jsonl").write_text("".join(json.dumps(one.record()) + "\n" for one in done))
    (run / "settlement.jsonl").write_text("".join(json.dumps(one.record()) + "\n" for one in cut))
    (run / "events.jsonl").write_text("")
    words = [str(host), str(run), "--stopped-price", "0.2", "--restarter-price", "0.02"]
    found = json.loads(CliRunner().invoke(command, [*words, "--json"]).output)
    assert found["completed_episodes"] == 5
    assert found["total"]["recorded"] == pytest.approx(known().recorded)
    assert found["parts"]["lost_partial_episodes"] == pytest.approx(known().parts[LOST])
    screen = CliRunner().invoke(command, words).output
    assert "USD per completed episode (uninterrupted): 5 of them, 2 preemptions" in screen
    assert "still billed while stopped: 0.20 USD/h" in screen
