"""control.settling: each cut attempt is settled exactly once, under the interruption that cut it."""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crash_points import Crash, CrashPoints
from guest_world import AT, NOW, RECORD
from spoteval.control.markers import NO_MARKER, RUN_ENDED, is_settled
from spoteval.control.runfiles import interruptions
from spoteval.control.settling import Settling, cut_attempts, settle_run, unfinished
from spoteval.episode import Attempt, Outcome
from spoteval.event import Event
from spoteval.files import append_line, read_lines, write_record
from spoteval.harness.contract import Survey
from spoteval.interruption import (
    NOT_AN_INTERRUPTION,
    OPERATOR,
    PREEMPTED,
    UNDECIDED,
    Closed,
    Opened,
    interruption_id,
)
from spoteval.paths import RunPaths

CUT = Outcome.PREEMPTION_INTERRUPTED
STOPPED = Outcome.OPERATOR_STOPPED
MARKERS = ("none", "cut short", PREEMPTED, OPERATOR, NOT_AN_INTERRUPTION)


def attempt(native: str, outcome: Outcome | None = None, number: int = 0) -> Attempt:
    """One attempt; its episode is what stands before the #."""
    return Attempt(native.partition("#")[0], native, outcome, number)


@dataclass
class World:
    """One run's directory and what its harness would say; time goes on by a second with each event."""

    paths: RunPaths
    survey: Survey = field(default_factory=Survey)
    now_s: float = 0.0
    cut_by: dict[str, Outcome] = field(default_factory=dict)

    def event(self, kind: str, session: str) -> None:
        """Append one event of this life."""
        self.now_s += 1.0
        event = Event(self.at(), kind, "boot-resume", "gpu-1", session=session)
        append_line(self.paths.events, event.record())

    def at(self) -> datetime:
        """The present moment."""
        return AT + timedelta(seconds=self.now_s)

    def mark(self, session: str, how: str) -> None:
        """The hook's marker, as far as it came."""
        self.now_s += 1.0
        now = replace(NOW, wall=AT + timedelta(seconds=self.now_s))
        name = interruption_id(now.wall, session, "notice")
        folder = self.paths.interruptions / name
        opened = Opened(name, RECORD.name, session, now.mark, "notice", UNDECIDED)
        write_record(folder / "opened.json", opened.record())
        if how != "cut short":
            write_record(folder / "closed.json", Closed(name, now.mark, how).record())

    def settle(self, session: str) -> Settling:
        """Settle in this life."""
        now = replace(NOW, wall=AT + timedelta(seconds=self.now_s))
        return settle_run(RECORD, self.paths, self.survey, session, now)

    def lines(self) -> tuple[dict[str, object], ...]:
        """What settlement.jsonl holds."""
        return read_lines(self.paths.settlement).records


@pytest.fixture
def world(tmp_path: Path) -> World:
    """An empty run."""
    return World(RunPaths(tmp_path / "run"))


def test_a_cut_attempt_is_settled_under_the_marker_of_its_stop(world: World) -> None:
    """With the marker's cause, the declared policy and the next number of its episode; the second time nothing."""
    append_line(world.paths.settlement, attempt("a#1", CUT, 1).record())
    world.event("run-started", "s1")
    world.survey = Survey(intended=("a", "b"), in_flight=(attempt("a#2"),))
    world.mark("s1", OPERATOR)
    (name,) = interruptions(world.paths)
    assert world.settle("s2") == Settling(1, name, 2)
    assert world.settle("s2") == Settling(0, None, 2)
    line = world.lines()[-1]
    assert (line["interruption"], line["policy"]) == (name, "fresh_budget")
    assert (line["native_id"], line["attempt"], line["outcome"]) == ("a#2", 2, STOPPED.value)


def test_a_machine_that_went_without_a_word_was_preempted(world: World) -> None:
    """The marker is made up for, named after the last sign of that life; a second try makes no second one."""
    for kind in ("run-start", "run-started", "first-episode"):
        world.event(kind, "s1")
    last = interruption_id(AT + timedelta(seconds=3), "s1", NO_MARKER)
    world.event("booted", "s2")
    assert world.settle("s2") == Settling(0, last, None)
    found = interruptions(world.paths)
    assert [(name, item.cause) for name, item in found.items()] == [(last, PREEMPTED)]
    assert is_settled(world.paths, last)
    assert world.settle("s2") == Settling(0, None, None)
    assert world.settle("s3") == Settling(0, None, None)
    assert len(interruptions(world.paths)) == 1


def test_a_life_that_never_started_the_run_leaves_nothing_to_settle(world: World) -> None:
    """Taken while it resumed: no episode was cut, the restarter's own events tell of the stop."""
    world.event("resume-began", "s1")
    assert world.settle("s2") == Settling(0, None, None)
    assert not world.paths.interruptions.exists()


def test_a_run_that_ended_by_itself_cut_what_was_in_flight(world: World) -> None:
    """The machine is up: cause unknown, once for each start; without a cut there is no interruption."""
    world.event("run-started", "s1")
    assert world.settle("s1") == Settling(0, None, None)
    world.survey = Survey(in_flight=(attempt("a#1"),))
    first = interruption_id(AT + timedelta(seconds=1), "s1", RUN_ENDED)
    assert world.settle("s1") == Settling(1, first, None)
    world.event("run-started", "s1")
    world.survey = Survey(attempts=(attempt("a#1", CUT),), in_flight=(attempt("a#2"),))
    second = interruption_id(AT + timedelta(seconds=2), "s1", RUN_ENDED)
    assert world.settle("s1") == Settling(1, second, None)
    assert [item.cause for item in interruptions(world.paths).values()] == ["unknown", "unknown"]


def test_what_shows_only_after_its_interruption_was_settled_belongs_to_it(world: World) -> None:
    """A harness that writes down late which attempts were cut makes no second interruption."""
    world.event("run-started", "s1")
    world.mark("s1", PREEMPTED)
    world.settle("s2")
    world.survey = Survey(attempts=(attempt("a#1", CUT),))
    assert world.settle("s2") == Settling(1, None, None)
    (name,) = interruptions(world.paths)
    assert [line["interruption"] for line in world.lines()] == [name]


def test_the_marker_that_the_hook_still_works_on_is_left_to_it(world: World) -> None:
    """Open in this life, nothing cut: it is settled once it is closed."""
    world.event("run-started", "s1")
    world.mark("s1", "cut short")
    assert world.settle("s1") == Settling(0, None, None)
    (name,) = interruptions(world.paths)
    assert not is_settled(world.paths, name)
    assert world.settle("s2") == Settling(0, name, None)


def test_a_marker_that_is_opened_while_an_earlier_stop_is_settled_is_left_to_the_hook(
    world: World,
) -> None:
    """The plug cut the run, and the next life is taken while it settles that: the second marker has no end yet."""
    world.event("run-started", "s1")
    world.survey = Survey(in_flight=(attempt("a#1"),))
    world.event("resume-began", "s2")
    world.mark("s2", "cut short")
    plug = interruption_id(AT + timedelta(seconds=1), "s1", NO_MARKER)
    assert world.settle("s2") == Settling(1, plug, None)
    first, second = interruptions(world.paths)
    assert (first, is_settled(world.paths, first)) == (plug, True)
    assert not is_settled(world.paths, second)
    assert [line["interruption"] for line in world.lines()] == [plug]
    assert world.settle("s3") == Settling(0, second, None)


def test_finished_is_never_cut() -> None:
    """Neither what the witness holds, nor what the harness has with an end, nor what waits in its buffer."""
    survey = Survey(
        attempts=(attempt("a#1", Outcome.COMPLETED), attempt("b#1", CUT)),
        in_flight=(attempt("a#1"), attempt("b#1"), attempt("c#1"), attempt("d#1")),
        pending=(attempt("e#1", Outcome.COMPLETED),),
    )
    cut = cut_attempts(survey, [attempt("d#1", Outcome.COMPLETED).record()])
    assert [item.native_id for item in cut] == ["b#1", "c#1"]


def test_unfinished_counts_by_both_witnesses() -> None:
    """What the harness has and what was written down; what only waits in a buffer needs the harness again."""
    survey = Survey(
        intended=("a", "b", "c", "d"),
        attempts=(attempt("a#1", Outcome.COMPLETED), attempt("c#1", CUT)),
        pending=(attempt("d#1", Outcome.COMPLETED),),
    )
    finished = [attempt("b#1", Outcome.COMPLETED).record()]
    assert unfinished(survey, finished, []) == 2
    assert unfinished(survey, finished, [attempt("c#1", CUT).record() | {"policy": "none"}]) == 1
    assert unfinished(survey, finished, [attempt("c#1", CUT).record()]) == 2
    assert unfinished(replace(survey, intended=None), [], []) is None


@pytest.mark.parametrize(("given_number", "number"), [(0, 3), (2, 3), (4, 4)])
def test_an_attempt_never_takes_a_number_that_another_has(
    world: World, given_number: int, number: int
) -> None:
    """The adapter's number where it is free, else the next one: the store keeps one attempt under a number."""
    append_line(world.paths.settlement, attempt("a#1", CUT, 2).record())
    world.event("run-started", "s1")
    world.survey = Survey(in_flight=(attempt("a#9", number=given_number),))
    world.settle("s2")
    assert world.lines()[-1]["attempt"] == number


# One life: does it start the run, how many of its attempts end and are cut, what marker it leaves.
LIVES = st.lists(
    st.tuples(
        st.booleans(), st.integers(0, 2), st.integers(0, 3), st.sampled_from(MARKERS), st.booleans()
    ),
    min_size=1,
    max_size=5,
)


def live(world: World, lives: "list[tuple[bool, int, int, str, bool]]") -> Iterator[str]:
    """Play the lives; yields each session when it is to settle, before it starts the run."""
    for number, (starts, ends, cuts, marker, recorded) in enumerate(lives):
        session = f"s{number}"
        world.event("booted", session)
        yield session
        if starts:
            world.event("run-start", session)
            play(world, session, ends, cuts, recorded, marker)
        if marker != "none":
            world.mark(session, marker)
    yield "last"


def play(world: World, session: str, ends: int, cuts: int, recorded: bool, marker: str) -> None:
    """The run's processes: some attempts end, some are cut, with or without a word of the harness about it."""
    done = tuple(attempt(f"e{n}#{session}d", Outcome.COMPLETED) for n in range(ends))
    cut = tuple(attempt(f"e{n}#{session}c") for n in range(cuts))
    world.cut_by |= {item.native_id: STOPPED if marker == OPERATOR else CUT for item in cut}
    before = (*world.survey.attempts, *(replace(a, outcome=CUT) for a in world.survey.in_flight))
    told = tuple(replace(item, outcome=CUT) for item in cut) if recorded else ()
    world.survey = Survey(attempts=(*before, *done, *told), in_flight=() if recorded else cut)


@settings(deadline=None, max_examples=50)
@given(lives=LIVES, crash=st.integers(1, 40))
def test_i4_each_cut_attempt_is_settled_exactly_once(
    crash_points: CrashPoints, lives: list[tuple[bool, int, int, str, bool]], crash: int
) -> None:
    """Whatever lives a machine had, with a crash at any write of each settlement: one line for each attempt that
    was cut, with the outcome of the stop that cut it; every interruption ended; one marker for each life that
    started the run and was taken."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(RunPaths(Path(folder) / "run"))
        for session in live(world, lives):
            with suppress(Crash), crash_points.crash_at(crash):
                world.settle(session)
            world.settle(session)
        settled = {str(line["native_id"]): line["outcome"] for line in world.lines()}
        assert len(settled) == len(world.lines())
        assert settled == {native: outcome.value for native, outcome in world.cut_by.items()}
        counted = [item for item in interruptions(world.paths).values() if item.counts]
        assert all(is_settled(world.paths, item.opened.id) for item in counted)
        silent = ("none", NOT_AN_INTERRUPTION)
        wanted = [life for life in lives if life[3] not in silent or life[0]]
        assert len(counted) == len(wanted)
