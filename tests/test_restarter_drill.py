"""A drill's stop: announced by the host or by the guest, taken for a preemption, and marked as rehearsed."""

from dataclasses import replace

import pytest

from restarter_story import (
    NOON,
    OWNED,
    POLICY,
    PRICE,
    look,
    mark,
    now,
    sight,
    stopped,
)
from restarter_story import RUN as ASSIGNED
from spoteval.control.drills import Announced
from spoteval.event import Event
from spoteval.provider.contract import State
from spoteval.publication.listing import Fact
from spoteval.shape import Unreadable
from spoteval_agents.restarter.cause import rehearsed
from spoteval_agents.restarter.decide import decide
from spoteval_agents.restarter.intent import intend
from spoteval_agents.restarter.observe import observe
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import Ask, Drill, Life, Stop
from spoteval_agents.restarter.state import State as Memory

RUN = "drill-20261201t120000"
DRILL = Drill(RUN, mark(0))
TOLD = Announced(RUN, "ana", mark(0))
RUNS = Memory(
    word="RUNNING", since=mark(0), life=Life(mark(0), PRICE, 2, 3), run=ASSIGNED, owner=OWNED
)
DRILLED = Stop("preempted", "drill", 60.0, last_start=NOON)
SAID = (Fact(3, "s3", "booted"), Fact(3, "s3", "drill-stop"))


def after(memory: Memory, seen: Seen, at_s: float) -> tuple[Memory, list[Event]]:
    """Memory and events after that look."""
    state, news = observe(memory, seen, POLICY, now(at_s))
    return state, list(news)


def with_drill(seen: Seen, found: Announced | Unreadable | None) -> Seen:
    """The look with what lies in the file of announcements."""
    return replace(seen, drill=found)


def test_an_announcement_is_remembered_until_it_is_withdrawn() -> None:
    """Each is one event, and repeated looks are none."""
    running = look(State.RUNNING)
    state, news = after(RUNS, with_drill(running, TOLD), 10)
    assert state.drill == Drill(RUN, mark(10))
    assert [(event.kind, event.reason, event.rehearsal) for event in news] == [
        ("drill-announced", "ana", True)
    ]
    assert [event.detail for event in news] == [{"run": RUN, "rehearsal": True}]
    assert after(state, with_drill(running, TOLD), 20) == (state, [])
    state, news = after(state, running, 30)
    assert state.drill is None
    assert [(event.kind, event.detail) for event in news] == [
        ("drill-over", {"run": RUN, "rehearsal": True})
    ]
    assert after(state, running, 40) == (state, [])


def test_another_drill_takes_the_place_of_the_last() -> None:
    """By its run."""
    other = replace(TOLD, run="drill-20261202t120000")
    state, news = after(replace(RUNS, drill=DRILL), with_drill(look(State.RUNNING), other), 60)
    assert state.drill == Drill("drill-20261202t120000", mark(60))
    assert len(news) == 1


@pytest.mark.parametrize("before", [None, DRILL])
def test_an_announcement_that_cannot_be_read_changes_nothing(before: Drill | None) -> None:
    """Unknown is not withdrawn, and not announced."""
    state, news = after(
        replace(RUNS, drill=before), with_drill(look(State.RUNNING), Unreadable("torn")), 60
    )
    assert (state.drill, news) == (before, [])


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (None, ("preempted", "drill")),
        ("user", ("preempted", "drill")),
        ("guest", ("preempted", "drill")),
        ("preempted", ("preempted", "provider-reason")),
        ("platform", ("platform", "provider-reason")),
    ],
)
@pytest.mark.parametrize("by_guest", [True, False])
def test_the_cause_of_an_announced_stop(
    cause: str | None, expected: tuple[str, str], by_guest: bool
) -> None:
    """Whatever the provider calls somebody's stop; not where the provider says that it took the machine itself."""
    memory = RUNS if by_guest else replace(RUNS, drill=DRILL)
    seen = look(cause=cause, store=sight(facts=SAID if by_guest else SAID[:1], run=ASSIGNED))
    state, news = after(memory, with_drill(seen, None if by_guest else TOLD), 60)
    assert state.stop is not None
    assert (state.stop.cause, state.stop.evidence) == expected
    (event,) = [event for event in news if event.kind == "stopped"]
    assert event.rehearsal is (expected[1] == "drill")
    assert ("rehearsal" in event.detail) is (expected[1] == "drill")
    assert state.counts.interrupted == 1


def test_a_stop_that_nobody_announced_is_none() -> None:
    """Not by a drill of an earlier boot."""
    facts = (Fact(2, "s2", "drill-stop"), Fact(3, "s3", "booted"))
    state, _ = after(RUNS, look(cause="user", store=sight(facts=facts)), 60)
    assert state.stop is not None
    assert state.stop.cause == "user"
    assert not rehearsed(state)
    assert not rehearsed(Memory())


def test_a_drilled_instance_is_started_again() -> None:
    """Row 10 leaves it alone, by the host's announcement also where the stop was met in a start of its own."""
    memory = stopped(-60, stop=DRILLED, last_start=NOON)
    assert decide(memory, look(price=PRICE), POLICY, now(0)).word == "start"
    by_user = replace(memory, stop=replace(DRILLED, cause="user", evidence="provider-reason"))
    assert decide(by_user, look(price=PRICE), POLICY, now(0)).word == "stopped-on-purpose"
    known = replace(by_user, drill=DRILL)
    assert decide(known, look(price=PRICE), POLICY, now(0)).word == "start"


def test_a_drill_counts_as_assigned() -> None:
    """Row 9: before its run's fact can be seen."""
    memory = stopped(-60, run=None)
    assert decide(memory, look(price=PRICE), POLICY, now(0)).word == "no-run"
    assert decide(replace(memory, drill=DRILL), look(price=PRICE), POLICY, now(0)).word == "start"


def test_the_way_back_from_a_drill_is_marked() -> None:
    """The start request and RUNNING; of another stop, neither."""
    for stop, marked in ((DRILLED, True), (replace(DRILLED, evidence="none"), False)):
        memory = stopped(-60, stop=stop, last_start=NOON)
        seen = look(price=PRICE)
        asked, (event,) = intend(decide(memory, seen, POLICY, now(0)), memory, seen, POLICY, now(0))
        assert event.detail.get("rehearsal") is (True if marked else None)
        assert isinstance(asked.ask, Ask)
        _, news = after(asked, look(State.RUNNING), 30)
        (running,) = [event for event in news if event.kind == "running"]
        assert running.detail.get("rehearsal") is (True if marked else None)
