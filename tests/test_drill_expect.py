"""What a drill expects: all of it met in a drill that went well, and each missed when that one thing is broken."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from drill_story import CUT, INTENDED, RUN, WINDOW_S, Story, at, marker_id, stamped, told, without
from spoteval.drill.expect import Expectation, expectations, verdict
from spoteval.drill.plan import drill_name, is_drill
from spoteval.drill.records import disk_evidence
from spoteval.drill.screen import line, record, summary
from spoteval.drill.there import stops_of
from spoteval.episode import Attempt, Outcome
from spoteval.event import Event, events_from
from spoteval.files import append_line, read_lines


def judged(
    story: Story, arrived: bool | None = True, *, given_up: bool = False
) -> list[Expectation]:
    """As on the guest."""
    return list(expectations(disk_evidence(story.disk, RUN, arrived), given_up=given_up))


def there(story: Story, *, given_up: bool = False) -> list[Expectation]:
    """As on the restarter host: its own events are known."""
    events = events_from(read_lines(story.instance.events).records)
    found = disk_evidence(story.disk, RUN, arrived=True)
    return list(expectations(found, stops_of(events, RUN), events, given_up=given_up))


def missed(found: Sequence[Expectation]) -> list[str]:
    """Those that failed, as `<stop> <what>`."""
    return [f"{item.stop} {item.what}" for item in found if item.passed is False]


def no_marker(story: Story) -> None:
    """The hook did not run."""
    shutil.rmtree(story.marker(1))


def cut_short(story: Story) -> None:
    """The hook was cut before its end."""
    (story.marker(1) / "closed.json").unlink()


def took(seconds: float) -> Callable[[Story], None]:
    """The hook took so long."""

    def broken(story: Story) -> None:
        path = story.marker(1) / "closed.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "total_s": seconds}))

    return broken


def not_salvaged(story: Story) -> None:
    """Nothing was copied."""
    shutil.rmtree(story.marker(1) / "salvage")


def not_marked(story: Story) -> None:
    """Nothing was settled."""
    story.run.settlement.unlink()


def marked_otherwise(story: Story) -> None:
    """As if an operator had stopped it."""
    text = story.run.settlement.read_text()
    story.run.settlement.write_text(text.replace("preemption_interrupted", "operator_stopped"))


def not_started(story: Story) -> None:
    """No life after the second stop."""
    without(story.run.events, session="aaaa0003")


def no_episode(story: Story) -> None:
    """The last resume got to no episode."""
    without(story.run.events, session="aaaa0003", kind="first-episode")


def not_in_resume(story: Story) -> None:
    """The second stop came when episodes ran already."""
    line = {"at": stamped(120), "kind": "first-episode", "source": "boot-resume"}
    append_line(story.run.events, {**line, "instance": "gpu-1", "session": "aaaa0002"})


def twice(story: Story) -> None:
    """A finished episode was run again."""
    append_line(story.run.finished, Attempt("1", "1#2", Outcome.COMPLETED, 2).record())


def lost(story: Story) -> None:
    """One was never finished."""
    without(story.run.finished, native_id="4#9")


def test_a_drill_that_went_well(tmp_path: Path) -> None:
    """Every expectation, on both hosts, in the order in which it is met."""
    story = told(tmp_path)
    for found in (judged(story), there(story)):
        assert verdict(found) is True
        assert [f"{item.stop} {item.what}" for item in found] == [
            "1 hook",
            "1 salvaged",
            "1 restarted",
            "1 resumed",
            "1 late",
            "2 while-resuming",
            "2 hook",
            "2 salvaged",
            "2 restarted",
            "2 resumed",
            "2 late",
            "0 kept",
        ]


@pytest.mark.parametrize(
    ("broken", "failed"),
    [
        (no_marker, ["1 hook", "1 salvaged", "1 late"]),
        (cut_short, ["1 hook", "1 late"]),
        (took(WINDOW_S + 0.001), ["1 hook"]),
        (not_salvaged, ["1 salvaged"]),
        (not_marked, ["1 salvaged"]),
        (marked_otherwise, ["1 salvaged"]),
        (not_in_resume, ["2 while-resuming", "2 salvaged"]),
        (not_started, ["2 restarted", "2 resumed"]),
        (no_episode, ["2 resumed"]),
        (twice, ["0 kept"]),
        (lost, ["0 kept"]),
    ],
)
def test_what_is_broken_is_what_fails(
    tmp_path: Path, broken: Callable[[Story], None], failed: list[str]
) -> None:
    """What hangs on a marker fails with it, and where episodes ran some must be marked; nothing else fails."""
    story = told(tmp_path)
    broken(story)
    assert missed(judged(story, given_up=True)) == failed


def test_a_hook_that_needs_the_whole_window(tmp_path: Path) -> None:
    """At the end of the window it is still inside."""
    story = told(tmp_path)
    took(WINDOW_S)(story)
    assert missed(judged(story)) == []


def test_late_records_that_did_not_arrive(tmp_path: Path) -> None:
    """Open while it may still come, failed when nobody waits any longer."""
    story = told(tmp_path)
    found = judged(story, arrived=False)
    assert missed(found) == []
    assert [item.what for item in found if item.passed is None] == ["late", "late"]
    assert missed(judged(story, arrived=False, given_up=True)) == ["1 late", "2 late"]


@pytest.mark.parametrize("kind", ["start-asked", "running"])
def test_a_machine_that_the_restarter_did_not_start(tmp_path: Path, kind: str) -> None:
    """It came back, and not by the restarter."""
    story = told(tmp_path)
    without(story.instance.events, kind=kind)
    assert missed(there(story)) == ["1 restarted", "2 restarted"]


def test_no_capacity_is_said_while_it_lasts(tmp_path: Path) -> None:
    """The restarter goes on trying: nothing has failed yet."""
    story = told(tmp_path)
    for session in ("aaaa0002", "aaaa0003"):
        without(story.run.events, session=session)
    for kind in ("start-asked", "running"):
        without(story.instance.events, kind=kind)
    failure = {"at": stamped(100), "kind": "capacity-failure", "source": "restarter"}
    append_line(story.instance.events, {**failure, "instance": "gpu-1"})
    item = next(item for item in there(story) if item.what == "restarted")
    assert item.passed is None
    assert item.text == "no capacity: 1 failed starts; the restarter goes on trying"


def test_nothing_is_judged_before_it_can_be_known(tmp_path: Path) -> None:
    """A drill that has only begun has failed in nothing."""
    found = expectations(disk_evidence(Story(tmp_path).disk, RUN))
    assert [item.passed for item in found] == [None] * 12
    assert verdict(found) is None


def test_times_are_counted_from_the_stop(tmp_path: Path) -> None:
    """On the restarter host to RUNNING, on the guest to the next life's begin."""
    story = told(tmp_path)
    times = {(item.stop, item.what): item.took_s for item in there(story)}
    assert times[1, "hook"] == 9.0
    assert times[1, "restarted"] == 30.0
    assert times[1, "resumed"] == 40.0
    assert times[2, "resumed"] == 90.0
    assert times[2, "while-resuming"] == 30.0
    own = {(item.stop, item.what): item.took_s for item in judged(story)}
    assert own[1, "restarted"] == 40.0


def test_how_it_reads(tmp_path: Path) -> None:
    """A line each, a last one, and the same as JSON."""
    story = told(tmp_path)
    not_salvaged(story)
    found = judged(story)
    assert line(found[0]) == (
        "ok    stop 1  hook               9.0 s  marker opened, all done and closed; window 60 s"
    )
    assert line(found[1]).startswith("FAIL  stop 1  salvaged")
    assert summary(RUN, found) == f"{RUN}: FAILED  11 ok, 1 failed, 0 open"
    kept = record(RUN, found)
    assert (kept["drill"], kept["passed"]) == (RUN, False)


def test_stops_of_other_drills_are_not_this_ones() -> None:
    """By the run that the event names."""
    own = Event(at(1), "manual-stop", "operator", "gpu-1", detail={"rehearsal": True, "run": RUN})
    other = Event(at(0), "manual-stop", "operator", "gpu-1", detail={"rehearsal": True, "run": "x"})
    person = Event(at(0), "manual-stop", "operator", "gpu-1")
    assert stops_of([other, person, own], RUN) == (at(1),)


def test_names() -> None:
    """They sort by time, and nothing else is one."""
    assert drill_name(at(0)) == RUN
    assert is_drill(RUN)
    assert not is_drill("swe-lite-q3")
    assert len(INTENDED) > len(CUT)
    assert marker_id(1) < marker_id(2)
