"""Restarts by their stages, from the events of both hosts: gaps, clocks, drills."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from event_story import at, told
from spoteval.cli.restarts import restarts
from spoteval.event import Event
from spoteval.placement.restart_path import paths, summary


def guest(seconds: float, kind: str) -> Event:
    """An event of the guest."""
    session = f"s{round(seconds / 9000)}"
    return replace(told(seconds, kind, session), source="boot-resume")


def story(guest_ahead_s: float = 0.0, begin: float = 0.0) -> tuple[Event, ...]:
    """A whole way back of 100, 70, 200, 150, 900 and 60 s, the guest's clock ahead by so much."""
    moments = [(300, "booted"), (420, "server-start"), (1320, "healthy"), (1380, "first-episode")]
    theirs = [guest(begin + at_s + guest_ahead_s, kind) for at_s, kind in moments]
    return (
        guest(begin - 100 + guest_ahead_s, "notice"),
        Event(at(begin), "stopped", "restarter", "gpu-1", reason="preempted"),
        told(begin + 70, "start-asked"),
        told(begin + 270, "running"),
        *theirs,
    )


def ordered(events: tuple[Event, ...]) -> list[Event]:
    """As a log has them."""
    return sorted(events, key=lambda event: event.at)


def test_all_six_stages() -> None:
    """From the notice to the first episode, and their sum from the stop on."""
    (found,) = paths(ordered(story()))
    assert found.stages == {"S1": 100, "S2": 70, "S3": 200, "S4": 150, "S5": 900, "S6": 60}
    assert (found.total_s, found.done, found.cause, found.offset_s) == (1380, True, "preempted", 0)


def test_a_guest_that_is_behind_boots_after_the_start_call() -> None:
    """The least shift that makes its story possible; it is told."""
    (found,) = paths(ordered(story(-250)))
    assert found.offset_s == 20
    assert summary([found]).offsets_s == (20, 20)
    assert found.done


def test_a_guest_that_is_ahead_spoke_before_the_next_stop() -> None:
    """Only what the next stop bounds can be seen."""
    events = [*story(500), Event(at(1600), "stopped", "restarter", "gpu-1", reason="preempted")]
    first = paths(ordered(tuple(events)))[0]
    assert first.offset_s == -280


@given(st.integers(-3000, 3000))
def test_whatever_the_guests_clock_no_stage_is_negative(ahead_s: int) -> None:
    """And the restarter's own stages do not change."""
    for found in paths(ordered(story(float(ahead_s)))):
        assert min(found.stages.values()) >= 0
        if "S3" in found.stages:
            assert found.stages["S3"] == 200


def test_a_missing_mark_joins_two_stages() -> None:
    """Told as a gap of both, in no tail of either."""
    (found,) = paths([event for event in ordered(story()) if event.kind != "server-start"])
    assert found.stages["S4+S5"] == 1050
    known = summary([found])
    assert (known.gaps["S4"], known.gaps["S5"], "S4" in known.tails) == (1, 1, False)
    assert known.typical_s() == 1380


def test_a_drill_is_shown_only_where_it_is_asked_for() -> None:
    """It is not the provider's weather."""
    events = [
        replace(one, detail={"rehearsal": True}) if one.kind == "stopped" else one
        for one in story()
    ]
    assert paths(ordered(tuple(events))) == ()
    assert len(paths(ordered(tuple(events)), drills=True)) == 1


def test_a_restart_that_was_cut_is_not_whole() -> None:
    """The last stop of a log that nothing followed is none."""
    events = [*story()[:4], Event(at(290), "stopped", "restarter", "gpu-1", reason="unknown")]
    (found,) = paths(ordered(tuple(events)))
    assert (found.done, found.total_s) == (False, 270)
    assert summary([found]).typical_s() is None


@pytest.mark.parametrize("kind", ["capacity-failure"])
def test_capacity_failures_are_counted(kind: str) -> None:
    """They are within S3."""
    (found,) = paths(ordered((*story(), told(100, kind), told(120, kind))))
    assert found.capacity_failures == 2


def test_the_command(tmp_path: Path) -> None:
    """Both hosts' logs in two places; median and worst of two restarts."""
    theirs = [one for one in (*story(), *story(0, 9000)) if one.source == "boot-resume"]
    ours = [one for one in (*story(), *story(0, 9000)) if one.source != "boot-resume"]
    ours = [one if one.kind != "running" or one.at < at(9000) else _later(one) for one in ours]
    for name, events in (("guest", theirs), ("host", ours)):
        (tmp_path / name).mkdir()
        text = "".join(json.dumps(event.record()) + "\n" for event in ordered(tuple(events)))
        (tmp_path / name / "events.jsonl").write_text(text)
    places = [str(tmp_path / "guest"), str(tmp_path / "host")]
    found = json.loads(CliRunner().invoke(restarts, [*places, "--json"]).output)
    assert (found["restarts"], found["whole"], found["typical_s"]) == (2, 2, 1380)
    assert found["stages"]["S3"] == {"count": 2, "median_s": 220, "p90_s": 240, "worst_s": 240}
    screen = CliRunner().invoke(restarts, [*places, "--each"]).output
    assert "15 min" in next(line for line in screen.splitlines() if line.startswith("S5 "))
    assert "2 restarts, 2 of them until episodes ran again" in screen


def _later(event: Event) -> Event:
    return replace(event, at=event.at + timedelta(seconds=40))
