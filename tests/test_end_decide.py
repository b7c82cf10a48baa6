"""end_handler.decide: every row on its sentence."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from spoteval.clock import Mark, Now
from spoteval.control.completeness import Count
from spoteval.control.enders import HOLD_WITHIN_S, Ender
from spoteval.control.ending import End
from spoteval.control.requests import FINAL, SOON, Answer
from spoteval.shape import Reading, Unreadable
from spoteval_agents.end_handler.decide import (
    BY_ITSELF_S,
    END_PASS_WITHIN_S,
    STOP_WITHIN_S,
    decide,
)
from spoteval_agents.end_handler.observe import LATE_S, observe
from spoteval_agents.end_handler.seen import Asked, Policy, RunSeen, Seen, State

WALL = datetime(2026, 12, 1, 3, tzinfo=UTC)
NOW = Now(WALL, 5000.0, "boot-1")
POLICY = Policy(
    power_off=True, publish_within_s=1800.0, every_s=60.0, kill_switch="/d/holds/kill-switch"
)
DONE, OPEN = Count(24, 24), Count(12, 24)


def ago(seconds: float) -> Mark:
    """A mark so many seconds before NOW."""
    return Mark(WALL - timedelta(seconds=seconds), NOW.mono_s - seconds, "boot-1")


INTENT = Ender("5e55", "5e55", "end-handler", "run swe is over: complete", "end-1", ago(10), "swe")
END = End("swe", "complete", ago(5), 24, 24, {}, 0)
RUN = RunSeen("swe", DONE)
SEEN = Seen("5e55", run=RUN)
GOING = replace(SEEN, intents=(INTENT,))
ENDED = replace(GOING, run=replace(RUN, end=END))
HELD = replace(ENDED, guest_hold="run swe is over")
PROVED = replace(HELD, intents=(replace(INTENT, proved=True, proved_by="end-handler"),))
PASSED = State(end_passed=True)
TOLD = State(end_passed=True, fact=True, last_passed=True)


def row(seen: Seen, state: State = State(), policy: Policy = POLICY) -> tuple[str, str | None]:  # noqa: B008
    """The sentence without the agent, and the act."""
    plan = decide(seen, state, policy, NOW)
    return plan.decision.line().removeprefix("agent=end-handler decision="), plan.act


def with_run(seen: Seen, **changes: object) -> Seen:
    """The same with another run."""
    assert isinstance(seen.run, RunSeen)
    return replace(seen, run=replace(seen.run, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "line"),
    [
        (Seen("5e55", disk="/d: no sentinel"), 'wait stage=disk why="/d: no sentinel"'),
        (Seen("5e55"), 'wait stage=run why="no run is active"'),
        (Seen("5e55", run=Unreadable("EIO")), "wait stage=run why=EIO"),
    ],
)
def test_without_a_run_there_is_nothing_to_end(seen: Seen, line: str) -> None:
    """Said, and waited for."""
    assert row(seen) == (line, None)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("dbg (ana)", '"dbg (ana)"'), ("", "yes"), (Unreadable("EIO"), "EIO")],
)
@pytest.mark.parametrize("seen", [SEEN, ENDED, with_run(SEEN, count=OPEN)])
def test_the_kill_switch_stops_everything(
    seen: Seen, text: Reading[str | None], shown: str
) -> None:
    """Complete, half-way or long before; one that cannot be read is one."""
    assert row(replace(seen, kill_switch=text)) == (
        f'kill-switch text={shown} why="nothing is ended while it is there: rm /d/holds/kill-switch"',
        None,
    )


@pytest.mark.parametrize(
    ("count", "pairs"),
    [
        (Count(23, 24), " finished=23 intended=24"),
        (Count(0, None), " finished=0"),
        (Count(5, None), " finished=5"),
    ],
)
def test_a_run_that_is_not_complete_goes_on(count: Count, pairs: str) -> None:
    """One missing is not complete; nobody knows what was intended: neither."""
    assert row(with_run(SEEN, count=count)) == (f"wait stage=complete run=swe{pairs}", None)


@pytest.mark.parametrize(("left_s", "over"), [(0.5, False), (0, True), (-0.5, True)])
def test_at_its_deadline_a_run_is_over(left_s: float, over: bool) -> None:
    """Equal is over."""
    deadline = WALL + timedelta(seconds=left_s)
    line, act = row(with_run(SEEN, count=OPEN, deadline=deadline))
    if over:
        assert (line.split(" why")[0], act) == ("wait stage=intent reason=deadline", "intent")
    else:
        wanted = "wait stage=complete run=swe finished=12 intended=24 deadline_left_s=0"
        assert (line, act) == (wanted, None)


def test_a_run_that_a_person_declared_over_is_over() -> None:
    """Whatever the clock and the count say; a run that is complete by then ended as complete."""
    early = with_run(SEEN, count=OPEN, finishing=True)
    assert row(early) == (
        'wait stage=intent reason=finished-early why="written down before anything is done"',
        "intent",
    )
    unread = with_run(early, count=Unreadable("EIO"), deadline=Unreadable("x"))
    assert row(unread)[1] == "intent"
    assert "reason=complete" in row(with_run(SEEN, finishing=True))[0]
    switched = replace(early, kill_switch="dbg")
    assert row(switched)[1] is None


def test_a_clock_that_is_not_synchronised_passes_no_deadline() -> None:
    """Unknown is waited for; a complete run needs no clock."""
    unsynced = replace(NOW, synced=False)
    past = with_run(SEEN, count=OPEN, deadline=WALL - timedelta(days=1))
    plan = decide(past, State(), POLICY, unsynced)
    assert plan.act is None
    assert plan.decision.line().endswith(
        'finished=12 intended=24 why="the clock is not synchronised: nobody knows whether the '
        'deadline is past"'
    )
    assert decide(with_run(past, count=DONE), State(), POLICY, unsynced).act == "intent"


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"count": Unreadable("EIO")}, "EIO"), ({"count": OPEN, "deadline": Unreadable("x")}, "x")],
)
def test_what_cannot_be_read_ends_nothing(changes: dict[str, object], why: str) -> None:
    """The line says what."""
    line, act = row(with_run(SEEN, **changes))
    assert line.startswith("wait stage=complete run=swe")
    assert line.endswith(f"why={why}")
    assert act is None


def test_a_deadline_that_is_past_needs_no_count() -> None:
    """Damaged records do not keep the machine on."""
    past = with_run(SEEN, count=Unreadable("EIO"), deadline=WALL)
    assert row(past)[1] == "intent"


def test_a_damaged_end_calls_a_person() -> None:
    """And says where the published copy is."""
    plan = decide(with_run(SEEN, end=Unreadable("end.json: damaged")), State(), POLICY, NOW)
    assert plan.decision.line().endswith('decision=wait stage=end why="end.json: damaged"')
    assert (plan.act, plan.needs_you) == (None, "end.json: damaged")


def test_the_intent_comes_first() -> None:
    """Before the run is stopped; intents that cannot be read are waited for."""
    assert row(with_run(SEEN, members=9)) == (
        'wait stage=intent reason=complete why="written down before anything is done"',
        "intent",
    )
    assert row(replace(SEEN, intents=Unreadable("EIO"))) == (
        "wait stage=intent reason=complete why=EIO",
        None,
    )


@pytest.mark.parametrize(
    "other",
    [
        replace(INTENT, session="0ld"),
        replace(INTENT, agent="idle-guard"),
        replace(INTENT, withdrawn=True),
    ],
)
def test_what_is_no_intent_of_ours(other: Ender) -> None:
    """Another session's or agent's, or a withdrawn one."""
    assert row(replace(SEEN, intents=(other,)))[1] == "intent"


@pytest.mark.parametrize(
    ("for_s", "act"), [(0, None), (BY_ITSELF_S - 0.1, None), (BY_ITSELF_S, "stop-run")]
)
def test_a_complete_run_may_end_by_itself(for_s: float, act: str | None) -> None:
    """For half a minute; then its stop steps."""
    seen = replace(GOING, intents=(replace(INTENT, at=ago(for_s)),))
    line, found = row(with_run(seen, members=9))
    assert found == act
    assert line.startswith(f"wait stage=stop reason=complete processes=9 elapsed_s={for_s:.0f}")


def test_a_run_past_its_deadline_is_stopped_at_once_and_settled() -> None:
    """What is cut is written down before the end is."""
    late = with_run(GOING, count=OPEN, deadline=WALL, members=9)
    assert row(late)[1] == "stop-run"
    stopped = with_run(late, members=0)
    assert row(stopped) == ("wait stage=settle reason=deadline", "settle")
    assert row(stopped, State(settled=True))[1] == "final"


@pytest.mark.parametrize(("failures", "act"), [(2, "settle"), (3, "final")])
def test_settling_is_tried_three_times(failures: int, act: str) -> None:
    """What fails is in the line; the end comes all the same."""
    stopped = with_run(GOING, count=OPEN, deadline=WALL)
    state = State(failures={"settle": failures}, failed="exit 1")
    assert row(stopped, state)[1] == act
    assert row(stopped, state)[0].endswith('why="exit 1"')


def test_members_that_cannot_be_read_are_waited_for() -> None:
    """Nobody publishes under the feet of a run."""
    assert row(with_run(GOING, members=Unreadable("x"))) == (
        "wait stage=stop reason=complete why=x",
        None,
    )


@pytest.mark.parametrize("members", [2, Unreadable("EIO")])
def test_a_run_that_does_not_stop_keeps_the_machine_on_for_ten_minutes(
    members: Reading[int],
) -> None:
    """A process that a hung driver keeps from dying dies with the machine; a person hears of it."""
    at = [replace(INTENT, at=ago(age_s)) for age_s in (STOP_WITHIN_S - 0.1, STOP_WITHIN_S)]
    early, late = (replace(with_run(GOING, members=members), intents=(one,)) for one in at)
    assert row(early)[0].startswith("wait stage=stop")
    assert row(late)[1] == "final"
    told = decide(late, State(), POLICY, NOW).needs_you
    assert told is not None
    assert told.startswith("run swe did not stop within 600 s (")


@pytest.mark.parametrize(
    ("pending", "for_s", "act", "shown"),
    [
        (None, 0, "final", ""),
        (3, 0, "final", " pending=3"),
        (3, 1799.9, "final", " pending=3"),
        (0, 0, "end-record", " pending=0"),
        (3, 1800, "end-record", " pending=3"),
        (None, 1800, "end-record", " pending=unknown"),
    ],
)
def test_all_is_published_or_its_time_is_over(
    pending: int | None, for_s: float, act: str, shown: str
) -> None:
    """Half an hour by default, and not a moment more."""
    seen = replace(GOING, intents=(replace(INTENT, at=ago(for_s)),))
    line, found = row(seen, State(pending=pending))
    stage = "publish" if act == "final" else "record"
    assert found == act
    assert line.startswith(f"wait stage={stage} reason=complete{shown}")


@pytest.mark.parametrize(
    ("for_s", "act"),
    [(0, "pass"), (END_PASS_WITHIN_S - 0.1, "pass"), (END_PASS_WITHIN_S, "guest-hold")],
)
def test_the_end_record_is_published_within_bounds(for_s: float, act: str) -> None:
    """Two minutes; a pass that was answered is enough."""
    marks = ago(for_s)
    seen = replace(ENDED, intents=(replace(INTENT, at=marks),))
    seen = with_run(seen, end=replace(END, at=marks))
    assert row(seen)[1] == act
    assert row(seen, PASSED)[1] == "guest-hold"


def test_a_new_session_has_its_own_time() -> None:
    """The record is an hour old, the machine came up a moment ago."""
    seen = with_run(ENDED, end=replace(END, at=ago(3600)))
    assert row(seen)[1] == "pass"
    assert row(replace(seen, guest_hold="over"), PASSED)[1] == "hold"


@pytest.mark.parametrize(
    ("hold", "act"), [("", "hold"), (Unreadable("EIO"), "hold"), (None, "guest-hold")]
)
def test_the_guest_hold_then_the_restarters(hold: Reading[str | None], act: str) -> None:
    """One that cannot be read is a hold."""
    assert row(replace(ENDED, guest_hold=hold), PASSED)[1] == act


@pytest.mark.parametrize(
    ("for_s", "act"), [(HOLD_WITHIN_S - 0.1, "hold"), (HOLD_WITHIN_S, "power")]
)
def test_a_hold_that_cannot_be_proved_keeps_the_machine_on_for_a_quarter_of_an_hour(
    for_s: float, act: str
) -> None:
    """Then it goes off anyway; the hold stays owed."""
    seen = replace(HELD, intents=(replace(INTENT, at=ago(for_s)),))
    seen = with_run(seen, end=replace(END, at=ago(for_s)))
    line, found = row(seen, TOLD)
    assert found == act
    if act == "power":
        assert line == (
            "end reason=complete pending=0 guest_hold=placed restarter_hold=unproved power=off "
            'why="the hold could not be proved; the next boot places it first"'
        )


@pytest.mark.parametrize(("failures", "act"), [(0, "fact"), (2, "fact"), (3, "last-pass")])
def test_the_fact_is_tried_three_times(failures: int, act: str) -> None:
    """Both holds keep the machine off without it."""
    assert row(PROVED, State(end_passed=True, failures={"fact": failures}))[1] == act


def test_the_last_lines_are_published_before_the_power_goes() -> None:
    """A follower that is back after it was killed sends them; a machine that stays on publishes them anyhow."""
    told = replace(TOLD, last_passed=False)
    assert row(PROVED, told) == (
        'wait stage=publish-last reason=complete why="what was told since, before the power goes"',
        "last-pass",
    )
    assert row(PROVED, told, replace(POLICY, power_off=False))[1] is None


@pytest.mark.parametrize(
    ("answer", "waited_s", "passed"),
    [
        (Answer(5, 0, 0, 0, 1.0), 1.0, True),
        (Answer(5, 7, 7, 0, 1.0), 1.0, True),
        (None, 20 + LATE_S - 0.1, False),
        (None, 20 + LATE_S, True),
    ],
)
def test_the_power_waits_for_one_last_request(
    answer: Answer | None, waited_s: float, passed: bool
) -> None:
    """Whatever its answer; without one until it is lost."""
    last = State(asked=Asked("r-2", SOON, ago(waited_s), 20.0, last=True), end_passed=True)
    found = observe(last, {}, answer, NOW)
    assert (found.last_passed, found.asked is None, found.failed) == (passed, passed, None)


def test_the_sentence_of_the_end() -> None:
    """As it is promised."""
    assert row(PROVED, TOLD) == (
        "end reason=complete pending=0 guest_hold=placed restarter_hold=proved power=off",
        "power",
    )


def test_hold_only_leaves_the_machine_on() -> None:
    """Held, and nothing more is done."""
    assert row(PROVED, TOLD, replace(POLICY, power_off=False)) == (
        (
            "end reason=complete pending=0 guest_hold=placed restarter_hold=proved power=on "
            'why="on_complete is hold-only"'
        ),
        None,
    )


def test_the_end_record_has_the_last_word_on_reason_and_pending() -> None:
    """Also when the deadline was moved, or the follower says something else now."""
    seen = with_run(PROVED, end=replace(END, reason="deadline", pending=None), count=OPEN)
    assert row(seen, replace(TOLD, pending=0))[0].startswith("end reason=deadline pending=unknown")


@pytest.mark.parametrize(("before", "word"), [(2, "end"), (3, "gave-up")])
def test_three_rounds_without_a_hold_and_no_fourth(before: int, word: str) -> None:
    """A person must look."""
    owed = tuple(replace(INTENT, name=f"{n}", session=f"{n}") for n in range(before))
    late = replace(INTENT, at=ago(HOLD_WITHIN_S))
    seen = with_run(replace(HELD, intents=(*owed, late)), end=replace(END, at=ago(HOLD_WITHIN_S)))
    plan = decide(seen, TOLD, POLICY, NOW)
    assert plan.decision.word == word
    assert (plan.needs_you is not None) is (word == "gave-up")
    assert (plan.act == "power") is (word == "end")


def test_a_machine_that_is_on_again_after_the_end_is_left_alone() -> None:
    """An earlier session came to the end of it all: idle-guard has it now."""
    earlier = replace(INTENT, session="0ld", proved=True, proved_by="end-handler")
    assert row(replace(HELD, intents=(earlier,))) == (
        (
            'ended run=swe reason=complete why="it was ended in an earlier session; spoteval run new … '
            'begins another"'
        ),
        None,
    )


@pytest.mark.parametrize(
    "earlier",
    [
        replace(INTENT, session="0ld"),
        replace(INTENT, session="0ld", proved=True, proved_by="boot-resume"),
    ],
)
def test_what_an_earlier_session_left_half_way_goes_on(earlier: Ender) -> None:
    """Its hold was never proved, or by the boot after it: an intent of this session, then off."""
    assert row(replace(HELD, intents=(earlier,)))[1] == "intent"
    own = replace(HELD, intents=(earlier, INTENT))
    assert row(own, PASSED)[1] == ("fact" if earlier.proved else "hold")


FIRST = State(asked=Asked("r-1", FINAL, ago(10), 60.0))


@pytest.mark.parametrize(("backlog", "kind"), [(0, FINAL), (7, FINAL), (0, SOON)])
def test_an_answer_is_taken(backlog: int, kind: str) -> None:
    """Of a final request what is left; of the other that it was done."""
    state = replace(FIRST, asked=Asked("r-1", kind, ago(10), 60.0))
    found = observe(state, {}, Answer(5, backlog, backlog, 0, 1.0), NOW)
    assert found.asked is None
    assert found.answered == NOW.mark
    assert found.pending == (backlog if kind == FINAL else None)
    assert found.end_passed is (kind == SOON)


@pytest.mark.parametrize("answer", [None, Unreadable("torn")])
@pytest.mark.parametrize(("waited_s", "lost"), [(60 + LATE_S - 0.1, False), (60 + LATE_S, True)])
def test_a_request_without_an_answer_is_put_again(
    answer: Reading[Answer | None], waited_s: float, lost: bool
) -> None:
    """After its deadline and a little; an answer that is damaged is none."""
    state = State(asked=Asked("r-1", FINAL, ago(waited_s), 60.0))
    found = observe(state, {}, answer, NOW)
    assert (found.asked is None) is lost
    assert (found.failed is not None) is lost


def test_replies_of_the_work_beside_are_taken() -> None:
    """What succeeded is not tried again; what failed is counted by name."""
    replies: dict[str, Reading[str]] = {
        "settle": "done",
        "fact": Unreadable("timeout:60s"),
        "hold": "proved",
    }
    found = observe(State(failures={"fact": 1}), replies, None, NOW)
    assert (found.settled, found.fact, found.failures) == (True, False, {"fact": 2})
    assert observe(found, {"fact": "done"}, None, NOW).fact
    assert observe(State(), {"stop-run": Unreadable("left")}, None, NOW).failed == "left"
    assert observe(State(), {}, None, NOW) == State()


DRILLED = replace(ENDED, run=replace(RUN, end=END, rehearsal=True))


@pytest.mark.parametrize(
    ("state", "act"), [(State(), "pass"), (PASSED, "fact"), (TOLD, "withdraw")]
)
def test_a_drills_run_ends_without_a_hold_and_the_machine_stays_on(state: State, act: str) -> None:
    """Its end is published and told; then the intent to switch off is withdrawn."""
    assert row(DRILLED, state)[1] == act
    assert "hold" not in row(DRILLED, state)[0]


def test_a_drill_that_is_over_is_left_alone() -> None:
    """In this session, once the intent is withdrawn, and in any later one."""
    for intents in ((), (replace(INTENT, withdrawn=True),), (replace(INTENT, session="0ld"),)):
        assert row(replace(DRILLED, intents=intents), TOLD) == (
            (
                "ended run=swe reason=complete why=\"a drill's own run: the machine stays on while"
                ' anybody needs it"'
            ),
            None,
        )
