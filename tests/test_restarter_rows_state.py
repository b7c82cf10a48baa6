"""Rows 1 to 6 beyond a hold that stands: undone, gone, over-running, silent, stuck; both sides of each limit."""

from dataclasses import replace

import pytest

from restarter_story import (
    NOON,
    OWNED,
    POLICY,
    PRICE,
    RUN,
    hold,
    look,
    mark,
    now,
    sight,
    stopped,
)
from spoteval.decision import Decision
from spoteval.provider.contract import State
from spoteval.publication.listing import Fact
from spoteval.shape import Unreadable
from spoteval_agents.restarter.decide import decide
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import (
    Absent,
    Ask,
    Counts,
    Keep,
    KnownHold,
    Life,
    StopAsks,
    Unknown,
)
from spoteval_agents.restarter.state import State as Memory

AWAY = Unreadable("connection refused")
WANTS_OFF = hold("end-1", ensure_stopped=True)
RUNS = Memory(
    word="RUNNING", since=mark(0), life=Life(mark(0), PRICE), run=RUN, price=PRICE, owner=OWNED
)
OVER = replace(RUNS, run=replace(RUN, over="ended-fact"), over_since=mark(0))
OVER_SIGHT = sight(run=replace(RUN, over="ended-fact"))
STARTS = replace(RUNS, word="STARTING", life=None, failures=1)


def said(memory: Memory, seen: Seen, at_s: float, policy: Policy = POLICY) -> Decision:
    """The decision at that second."""
    return decide(memory, seen, policy, now(at_s))


# Row 1


def undone(count: int) -> Memory:
    """Under a hold that wants it off, with so many stops that others undid."""
    known = KnownHold(WANTS_OFF, mark(-900))
    return replace(RUNS, holds=(known,), counts=Counts(undone=count))


@pytest.mark.parametrize(
    ("count", "expected"), [(2, "stop"), (3, "stop-undone"), (4, "stop-undone")]
)
def test_row_1_stops_no_more_once_three_stops_were_undone(count: int, expected: str) -> None:
    """Whoever starts it again would do so for ever: own actions form no cycle (I6)."""
    assert said(undone(count), look(State.RUNNING), 0).word == expected


def test_row_1_stop_undone() -> None:
    """The line says how often, what it costs, and asks who does that."""
    assert said(undone(3), look(State.RUNNING), 0).line() == (
        "decision=stop-undone instance=gpu-1 state=RUNNING billed=yes hold=end-1 hold_age_s=900"
        ' undone=3 hold_reason="tp 4 -> 8 (ana)" holds=end-1 why="it is started again whenever it'
        ' was stopped, and is on at 11.60 USD/h: by whom?"'
    )


def test_row_1_a_machine_that_is_off_is_only_held() -> None:
    """However often it was undone before."""
    memory = replace(undone(3), word="STOPPED", life=None)
    assert said(memory, look(), 0).word == "held"


# Row 2


def absent(polls: int, since_s: float = 0.0) -> Memory:
    """The provider said so many times that there is no such instance."""
    return replace(
        RUNS, absent=Absent(mark(since_s), polls), unknown=Unknown(mark(since_s), "GONE", polls)
    )


@pytest.mark.parametrize(
    ("polls", "at_s", "expected"),
    [
        (2, 180, "unknown"),
        (2, 9000, "unknown"),
        (3, 179.9, "unknown"),
        (3, 180, "gone"),
        (3, 180.1, "gone"),
        (4, 181, "gone"),
    ],
)
def test_row_2_three_looks_over_three_minutes_are_gone(
    polls: int, at_s: float, expected: str
) -> None:
    """Fewer looks, or sooner, are `unknown`: one 404 is no proof (complaint 24)."""
    assert said(absent(polls), look(State.GONE), at_s).word == expected


def test_row_2_gone() -> None:
    """It is held, and a person is told."""
    assert said(absent(4), look(State.GONE), 240).line() == (
        "decision=gone instance=gpu-1 state=GONE last_state=RUNNING absent_s=240 polls=4"
        " action=hold alert=needs_you holds=none"
        ' why="the provider has known no such instance for 4 min; held"'
    )


def test_row_2_a_silent_provider_confirms_no_absence() -> None:
    """The third look must say it itself."""
    assert said(absent(3), look(None), 400).word == "unknown"


# Row 4


@pytest.mark.parametrize(
    ("over_s", "up_s", "expected"),
    [
        (7199, 9000, "running"),
        (7200, 9000, "over-running"),
        (7201, 9000, "over-running"),
        (9000, 7199, "running"),
        (9000, 7200, "over-running"),
    ],
)
def test_row_4_two_hours_of_running_after_the_end(
    over_s: float, up_s: float, expected: str
) -> None:
    """Counted from the end, or from the start by hand that came later."""
    memory = replace(OVER, over_since=mark(-over_s), since=mark(-up_s))
    memory = replace(memory, life=Life(mark(-up_s), PRICE, boot=1))
    assert said(memory, look(State.RUNNING, store=OVER_SIGHT), 0).word == expected


def test_row_4_over_running() -> None:
    """The third ender says what it costs."""
    assert said(OVER, look(State.RUNNING, store=OVER_SIGHT), 7260).line() == (
        "decision=over-running instance=gpu-1 state=RUNNING up_s=7260 run=swe-lite-q3 over_s=7260"
        " limit_s=7200 action=hold alert=needs_you holds=none"
        ' why="the run has been over for 2.0 h and the machine is on at 11.60 USD/h; held"'
    )


def test_row_4_leaves_out_a_run_that_is_not_remembered() -> None:
    """It is over all the same."""
    found = said(replace(OVER, run=None), look(State.RUNNING, store=OVER_SIGHT), 7260)
    assert (found.word, found.pairs["run"]) == ("over-running", None)
    assert " run=" not in found.line()


@pytest.mark.parametrize(
    ("kept_s", "expected"), [(7199, "running"), (7200, "over-running"), (7201, "over-running")]
)
def test_row_4_a_fresh_keep_fact_keeps_it_on(kept_s: float, expected: str) -> None:
    """Fresh is less than two hours since it was first seen here."""
    memory = replace(OVER, keep=Keep("1/keep-12", mark(20_000 - kept_s)))
    assert said(memory, look(State.RUNNING, store=OVER_SIGHT), 20_000).word == expected


def test_row_4_is_not_judged_while_the_store_is_away() -> None:
    """A keep fact may lie there."""
    assert said(OVER, look(State.RUNNING, store=AWAY), 20_000).word == "running"


@pytest.mark.parametrize("memory", [RUNS, replace(RUNS, run=None)])
def test_row_4_needs_a_run_that_is_over(memory: Memory) -> None:
    """Set-up without a run is the idle guard's."""
    assert said(memory, look(State.RUNNING), 90_000).word == "running"


# Row 5


@pytest.mark.parametrize(
    ("silent_s", "action"), [(0, None), (2699, None), (2700, "hold"), (2701, "hold")]
)
def test_row_5_is_held_after_as_long_again(silent_s: float, action: str | None) -> None:
    """First it is said, then it is stopped."""
    found = said(replace(RUNS, silent=mark(0)), look(State.RUNNING), silent_s)
    assert (found.word, found.pairs.get("action")) == ("silent", action)


def test_row_5_silent() -> None:
    """The line has a date."""
    memory = replace(RUNS, silent=mark(2700))
    assert said(memory, look(State.RUNNING), 2760).line() == (
        "decision=silent instance=gpu-1 state=RUNNING up_s=2760 limit_s=2700 silent_s=60"
        ' holds=none why="RUNNING for 46 min at 11.60 USD/h and no sign of its guest; held in'
        ' 44 min"'
    )


def test_row_5_silent_for_good() -> None:
    """It is held, with the reason that the hold will carry."""
    memory = replace(RUNS, silent=mark(2700))
    assert said(memory, look(State.RUNNING), 5400).line() == (
        "decision=silent instance=gpu-1 state=RUNNING up_s=5400 limit_s=2700 silent_s=2700"
        " action=hold alert=needs_you holds=none"
        ' why="RUNNING for 90 min at 11.60 USD/h and no sign of its guest; held"'
    )


def test_row_5_is_not_judged_while_the_store_is_away() -> None:
    """The sign may lie there."""
    memory = replace(RUNS, silent=mark(0))
    assert said(memory, look(State.RUNNING, store=AWAY), 9000).word == "running"


# Row 6


@pytest.mark.parametrize(
    ("at_s", "expected"), [(899, "starting"), (900, "start-stuck"), (901, "start-stuck")]
)
def test_row_6_starting_past_the_window(at_s: float, expected: str) -> None:
    """At its second it is stuck."""
    assert said(STARTS, look(State.STARTING), at_s).word == expected


def test_row_6_waits_for_an_open_window() -> None:
    """A request that may still come to RUNNING is not cancelled."""
    memory = replace(STARTS, ask=Ask(mark(500)))
    assert said(memory, look(State.STARTING), 1000).word == "starting"


def test_row_6_start_stuck() -> None:
    """One stop request, named in the line."""
    assert said(STARTS, look(State.STARTING), 960).line() == (
        "decision=start-stuck instance=gpu-1 state=STARTING starting_s=960 window_s=900"
        ' capacity_failures=1 stops=1 action=stop holds=none why="STARTING for 16 min; one stop'
        ' request goes out"'
    )


def test_row_6_asks_once() -> None:
    """Afterwards a person is named."""
    memory = replace(STARTS, stop_asks=StopAsks(mark(900), 1))
    assert said(memory, look(State.STARTING), 90_000).line() == (
        "decision=start-stuck instance=gpu-1 state=STARTING starting_s=90000 window_s=900"
        ' capacity_failures=1 stops=1 holds=none why="STARTING for 25.0 h; its stop was asked for'
        " 24.8 h ago: look at the provider's console\""
    )


def test_row_6_where_the_provider_cancels_nothing() -> None:
    """No request at all."""
    policy = replace(POLICY, cancels=False)
    assert said(STARTS, look(State.STARTING), 960, policy).line() == (
        "decision=start-stuck instance=gpu-1 state=STARTING starting_s=960 window_s=900"
        ' capacity_failures=1 stops=0 holds=none why="STARTING for 16 min, and this provider stops'
        ' nothing that is starting: look at its console"'
    )


# Order


@pytest.mark.parametrize(
    ("memory", "seen", "expected"),
    [
        (replace(absent(9), holds=(KnownHold(hold(), mark(0)),)), look(State.GONE), "held"),
        (replace(OVER, silent=mark(-9000)), look(State.RUNNING, store=OVER_SIGHT), "over-running"),
        (replace(OVER, unknown=Unknown(mark(0), "x")), look(None), "unknown"),
    ],
)
def test_rows_1_to_6_in_their_order(memory: Memory, seen: Seen, expected: str) -> None:
    """A known hold goes first, then what the provider says, then what the guest did not say."""
    assert said(memory, seen, 9000).word == expected


def test_facts_of_this_boot_are_not_those_of_another() -> None:
    """The same memory without silence is simply running."""
    facts = (Fact(1, "s1", "booted"),)
    seen = look(State.RUNNING, store=sight(facts=facts), last_start=NOON)
    assert said(replace(RUNS, life=Life(mark(0), PRICE, 0, 1)), seen, 9000).word == "running"
    assert said(stopped(-60), look(), 0).asks == "price"
