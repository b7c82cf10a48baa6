"""The restarter's table: each row by its whole sentence, each boundary at equal and one past."""

from dataclasses import replace
from datetime import timedelta

import pytest

from restarter_story import (
    NOON,
    OTHER,
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
from spoteval.config.grant import Grant
from spoteval.config.restarter import PollSettings
from spoteval.line import parse
from spoteval.provider.contract import State
from spoteval.settings.money import Money
from spoteval.shape import Unreadable
from spoteval_agents.restarter.decide import ROWS, decide, pause_s
from spoteval_agents.restarter.policy import backoff_s, stop_every_s
from spoteval_agents.restarter.seen import Guest, Seen
from spoteval_agents.restarter.state import (
    Ask,
    FileHold,
    KnownHold,
    Ownership,
    Stop,
    StopAsks,
    Unknown,
)
from spoteval_agents.restarter.state import State as Memory

GUEST_HOLD = hold("end-20261201T120000-aaaa", ensure_stopped=True)


def said(memory: Memory, seen: Seen, at_s: float) -> str:
    """The line of the decision at that second."""
    return decide(memory, seen, POLICY, now(at_s)).line()


def word(memory: Memory, seen: Seen, at_s: float) -> str:
    """The decision at that second."""
    return decide(memory, seen, POLICY, now(at_s)).word


def test_rows_stand_in_the_order_of_the_design() -> None:
    """The first match wins, so the order of the table is the rule."""
    numbers = [number for number, _ in ROWS]
    assert numbers == sorted(numbers) == list(range(1, 18))


# Row 1


def test_row_1_held_by_a_touch_file() -> None:
    """The reason stands in the line, and the line says how to lift it."""
    memory = stopped(file_hold=FileHold(mark(0), "tp 4 -> 8 (ana)"))
    assert said(memory, look(file_hold="tp 4 -> 8 (ana)"), 5400) == (
        "decision=held instance=gpu-1 state=STOPPED billed=no hold=operator hold_age_s=5400"
        ' hold_reason="tp 4 -> 8 (ana)" holds=operator why="rm /var/lib/spoteval/holds/gpu-1"'
    )


def test_row_1_held_by_the_store() -> None:
    """A hold of the store names who placed it and is lifted by its own command."""
    memory = stopped(holds=(KnownHold(hold(), mark(0)),))
    assert said(memory, look(), 60) == (
        "decision=held instance=gpu-1 state=STOPPED billed=no hold=operator-1 hold_age_s=60"
        ' hold_reason="tp 4 -> 8 (ana)" holds=operator-1 why="spoteval hold release gpu-1"'
    )


def test_row_1_says_what_it_cannot_prevent() -> None:
    """Where only the provider starts it again, it does so under a hold too; of a look that failed nothing is said."""
    memory = stopped(file_hold=FileHold(mark(0), "x"))
    why = "rm /var/lib/spoteval/holds/gpu-1"
    more = (
        "the provider may restart it all the same: only the guest hold keeps its run from going on"
    )
    for seen, expected in (
        (look(file_hold="x", auto_restart=True), f"{why}; {more}"),
        (look(file_hold="x"), why),
        (look(None, file_hold="x"), why),
    ):
        assert decide(memory, seen, POLICY, now(60)).why == expected


@pytest.mark.parametrize("state", [None, *State])
def test_row_1_goes_before_every_other(state: State | None) -> None:
    """Whatever the provider says or does not say, a known hold decides; without ensure_stopped it stops nothing."""
    memory = stopped(holds=(KnownHold(hold(), mark(0)),), unknown=Unknown(mark(0), "timeout"))
    assert word(memory, look(state, store=Unreadable("away")), 10_000) == "held"


@pytest.mark.parametrize(
    ("at_s", "expected"), [(599, "held"), (600, "stop"), (601, "stop"), (100_000, "stop")]
)
def test_row_1_stops_what_runs_past_the_grace_of_the_hold(at_s: float, expected: str) -> None:
    """stop_after_s counts from the first look that saw the hold."""
    memory = Memory(word="RUNNING", since=mark(-900), holds=(KnownHold(GUEST_HOLD, mark(0)),))
    assert word(memory, look(State.RUNNING), at_s) == expected


def test_row_1_says_what_it_stops_and_why() -> None:
    """The line of a stop names the hold, its grace and the number of the request."""
    memory = Memory(word="RUNNING", since=mark(-900), holds=(KnownHold(GUEST_HOLD, mark(0)),))
    assert said(memory, look(State.RUNNING), 620) == (
        "decision=stop instance=gpu-1 state=RUNNING billed=yes hold=end-20261201T120000-aaaa"
        ' hold_age_s=620 stop_after_s=600 stops=1 hold_reason="tp 4 -> 8 (ana)"'
        " holds=end-20261201T120000-aaaa next_s=10"
        ' why="the hold wants it stopped and it still runs or is billed"'
    )


def test_row_1_says_when_it_will_stop() -> None:
    """While the grace lasts, the line has a date."""
    memory = Memory(word="RUNNING", since=mark(-900), holds=(KnownHold(GUEST_HOLD, mark(0)),))
    line = said(memory, look(State.RUNNING), 60)
    assert line.endswith('why="spoteval hold release gpu-1; the instance is stopped in 9 min"'), (
        line
    )


@pytest.mark.parametrize(
    ("state", "billed", "since_s", "expected"),
    [
        (State.STOPPED, False, 0, "held"),
        (State.STOPPED, True, 0, "stop"),
        (State.STOPPING, True, 0, "held"),
        (State.STARTING, True, 101, "held"),
        (State.STARTING, True, 100, "stop"),
        (None, None, 0, "held"),
    ],
)
def test_row_1_stops_only_what_costs(
    state: State | None, billed: bool | None, since_s: float, expected: str
) -> None:
    """Running, billed though stopped, or stuck in its start for a whole window; never what is on its way down."""
    memory = Memory(
        word=state.value if state is not None else None,
        since=mark(since_s),
        holds=(KnownHold(GUEST_HOLD, mark(0)),),
    )
    assert word(memory, look(state, billed=billed), 1000) == expected


@pytest.mark.parametrize(
    ("count", "wait_s"), [(1, 120), (2, 240), (3, 480), (4, 960), (5, 1800), (500, 1800)]
)
def test_row_1_repeats_a_stop_ever_more_rarely(count: int, wait_s: float) -> None:
    """At most one request in 2 minutes, doubling to 30."""
    memory = Memory(
        word="RUNNING",
        since=mark(0),
        holds=(KnownHold(GUEST_HOLD, mark(0)),),
        stop_asks=StopAsks(mark(1000), count),
    )
    assert stop_every_s(count) == wait_s
    assert word(memory, look(State.RUNNING), 1000 + wait_s - 1) == "held"
    assert word(memory, look(State.RUNNING), 1000 + wait_s) == "stop"


def test_row_1_says_when_it_asks_again() -> None:
    """While a stop that was asked for may still come."""
    memory = Memory(
        word="RUNNING",
        since=mark(0),
        holds=(KnownHold(GUEST_HOLD, mark(0)),),
        stop_asks=StopAsks(mark(1000), 1),
    )
    assert decide(memory, look(State.RUNNING), POLICY, now(1060)).why == (
        "spoteval hold release gpu-1; a stop was asked for, again in 60 s"
    )


# Row 3


def test_row_3_unknown() -> None:
    """A provider that does not answer has not stopped the instance."""
    memory = Memory(word="RUNNING", since=mark(-60), unknown=Unknown(mark(0), "timeout:20s", 3))
    assert said(memory, look(None), 180) == (
        "decision=unknown instance=gpu-1 state=UNKNOWN last_state=RUNNING unknown_s=180"
        " error=timeout:20s repeats=3 holds=none"
        ' why="nothing is done and nothing counted while the provider does not answer"'
    )


@pytest.mark.parametrize("state", [State.UNKNOWN, State.GONE])
def test_row_3_an_answer_that_no_row_understands_starts_nothing(state: State) -> None:
    """A word that is not understood, or not yet believed, is treated as unknown, and named."""
    memory = stopped(-9000, unknown=Unknown(mark(0), state.value))
    line = said(memory, look(state), 1000)
    assert line.startswith(
        f"decision=unknown instance=gpu-1 state={state.value} last_state=STOPPED"
    )


def test_row_3_says_which_word_it_does_not_act_on() -> None:
    """A provider that answers is not said to be silent."""
    memory = stopped(-9000, unknown=Unknown(mark(0), "GONE", 2))
    assert said(memory, look(State.GONE), 100) == (
        "decision=unknown instance=gpu-1 state=GONE last_state=STOPPED unknown_s=100 error=GONE"
        " repeats=2 holds=none"
        ' why="nothing is done and nothing counted while the provider says GONE"'
    )


def test_row_3_what_is_understood_is_not_unknown() -> None:
    """Whatever the looks before it said."""
    memory = Memory(word="RUNNING", since=mark(0), unknown=Unknown(mark(0), "timeout"))
    assert word(memory, look(State.RUNNING), 60) == "running"


# Row 7


def test_row_7_running() -> None:
    """The guest's own figures stand in the line where it gave a sign of life."""
    memory = Memory(word="RUNNING", since=mark(0), run=RUN)
    seen = replace(look(State.RUNNING), guest=Guest(38.04, 212, 500, 16))
    assert said(memory, seen, 4020) == (
        "decision=running instance=gpu-1 state=RUNNING up_s=4020 run=swe-lite-q3 finished=212"
        " intended=500 in_flight=16 guest_age_s=38 holds=none next_s=60"
    )


def test_row_7_running_without_a_sign_of_the_guest() -> None:
    """What is not known is left out, not invented."""
    memory = Memory(word="RUNNING", since=mark(0))
    seen = look(State.RUNNING, store=sight(run=None))
    assert said(memory, seen, 60) == (
        "decision=running instance=gpu-1 state=RUNNING up_s=60 holds=none next_s=60"
    )


def test_row_7_starting_and_stopping() -> None:
    """On its way up or down it is looked at more often."""
    starting = Memory(word="STARTING", since=mark(20), ask=Ask(mark(0)))
    assert said(starting, look(State.STARTING), 30) == (
        "decision=starting instance=gpu-1 state=STARTING asked_s=30 window_left_s=870"
        " holds=none next_s=10"
    )
    stopping = Memory(word="STOPPING", since=mark(20))
    assert said(stopping, look(State.STOPPING), 30) == (
        "decision=stopping instance=gpu-1 state=STOPPING stopping_s=10 holds=none next_s=10"
    )


# Row 8


@pytest.mark.parametrize("place", ["store", "file"])
def test_row_8_a_hold_that_cannot_be_read_is_a_hold(place: str) -> None:
    """Store or touch file out of reach: nothing is started."""
    away = Unreadable("connection refused")
    seen = look(store=away) if place == "store" else look(file_hold=away)
    assert said(stopped(-900, unheard=2), seen, 0) == (
        'decision=hold-unknown instance=gpu-1 state=STOPPED error="connection refused" repeats=2'
        ' holds=unreadable why="a hold may stand: nothing is started until holds can be read"'
    )


# Row 9


def test_row_9_no_run() -> None:
    """Without a run nobody needs the instance."""
    assert said(stopped(-900, run=None), look(store=sight(run=None)), 0) == (
        "decision=no-run instance=gpu-1 state=STOPPED holds=none"
        ' why="no run is assigned (spoteval run start on the guest assigns one)"'
    )


def test_row_9_run_over() -> None:
    """A run that is over starts nothing, also where its holds have been lifted."""
    over = replace(RUN, over="ended-fact")
    assert said(stopped(-900, run=over), look(store=sight(run=over)), 0) == (
        "decision=run-over instance=gpu-1 state=STOPPED run=swe-lite-q3 evidence=ended-fact"
        ' holds=none why="run swe-lite-q3 is over; to start the instance by hand:'
        ' spoteval start gpu-1"'
    )


@pytest.mark.parametrize(
    ("left_s", "synced", "expected"),
    [(1, True, "price"), (0, True, "run-over"), (-1, True, "run-over"), (-1, False, "price")],
)
def test_row_9_a_deadline_passes_on_a_true_clock_alone(
    left_s: float, synced: bool, expected: str
) -> None:
    """At its second it has passed; on a clock that is not synchronised nothing has."""
    run = replace(RUN, deadline=NOON + timedelta(seconds=left_s))
    memory = stopped(-900, run=run)
    found = decide(memory, look(), POLICY, now(0, synced=synced))
    assert found.word == expected
    assert found.pairs.get("evidence") == ("deadline" if expected == "run-over" else None)


# Row 13


@pytest.mark.parametrize(
    ("reply", "shown", "why"),
    [
        (
            "error:UNAVAILABLE",
            "error:UNAVAILABLE",
            "the call failed, the start may go on; only RUNNING counts",
        ),
        ("accepted", "accepted", "the call was accepted; only RUNNING counts"),
        (None, "none", "no answer was recorded, the start may go on; only RUNNING counts"),
    ],
)
def test_row_13_start_pending(reply: str | None, shown: str, why: str) -> None:
    """Whatever the call answered, a second one does not go out while the window is open."""
    memory = stopped(-900, ask=Ask(mark(0), reply))
    assert said(memory, look(), 30) == (
        f"decision=start-pending instance=gpu-1 state=STOPPED asked_s=30 reply={shown}"
        f' window_left_s=870 holds=none why="{why}"'
    )


def test_row_13_recovering() -> None:
    """With its memory lost, one window passes as if a start were open."""
    memory = stopped(-900, ask=Ask(mark(0), recovered=True))
    assert said(memory, look(), 30) == (
        "decision=recovering instance=gpu-1 state=STOPPED window_left_s=870 holds=none"
        ' why="the memory of this instance was damaged: a start may be open, so its window'
        ' passes first"'
    )


# Row 15


def test_row_15_grace() -> None:
    """A stop is given a minute to prove that it is one, and the line says why it stopped."""
    memory = stopped(stop=Stop("preempted", "guest-marker", 9980))
    assert said(memory, look(), 41) == (
        "decision=grace instance=gpu-1 state=STOPPED stopped_s=41 grace_s=60 cause=preempted"
        " evidence=guest-marker up_was_s=9980 holds=none next_s=10"
        ' why="starting in 19 s"'
    )


@pytest.mark.parametrize(("at_s", "expected"), [(59, "grace"), (60, "price"), (61, "price")])
def test_row_15_the_grace_ends_at_its_second(at_s: float, expected: str) -> None:
    """At equal it is over."""
    assert word(stopped(), look(), at_s) == expected


def test_row_15_backoff() -> None:
    """After failed starts the line says how often, since when and until when."""
    memory = stopped(failures=2, failing_since=mark(0), failed_at=mark(1912.5))
    assert said(memory, look(), 1980) == (
        "decision=backoff instance=gpu-1 state=STOPPED capacity_failures=2 failing_s=1980"
        " rule_failed_starts_s=2700 wait_left_s=157.5 holds=none"
        ' why="no capacity twice; 12 min until hold-and-report"'
    )


@pytest.mark.parametrize(("at_s", "expected"), [(1111, "backoff"), (1112.5, "price")])
def test_row_15_the_backoff_ends_at_its_second(at_s: float, expected: str) -> None:
    """At equal it is over."""
    memory = stopped(failures=1, failing_since=mark(0), failed_at=mark(1000))
    assert word(memory, look(), at_s) == expected


def test_row_15_the_backoff_doubles_up_to_one_failed_start() -> None:
    """An eighth of a window, doubled, capped; and a thousand failures later it still tries (complaint 16)."""
    waits = [backoff_s(failures, 900, 1200) for failures in (0, 1, 2, 3, 4, 5, 1000, 10_000)]
    assert waits == [0, 112.5, 225, 450, 900, 1200, 1200, 1200]
    memory = stopped(failures=1000, failing_since=mark(0), failed_at=mark(0))
    assert word(memory, look(price=PRICE, at_s=1200), 1200) == "start"


# Row 17


def test_row_17_asks_for_the_price_before_every_start() -> None:
    """Also without a cap: the price of each start is on record."""
    for policy in (POLICY, replace(POLICY, grant=Grant())):
        assert decide(stopped(-60), look(), policy, now(0)).asks == "price"


@pytest.mark.parametrize(
    ("amount", "expected"), [(13.99, "start"), (14.0, "start"), (14.01, "price")]
)
def test_row_17_above_the_cap_is_above(amount: float, expected: str) -> None:
    """At the cap it still starts."""
    seen = look(price=replace(PRICE, amount=amount))
    assert word(stopped(-60), seen, 0) == expected


def test_row_17_price() -> None:
    """The line shows price and cap side by side; the backoff is not advanced (complaint 33)."""
    assert said(stopped(-60), look(price=replace(PRICE, amount=15.5)), 0) == (
        "decision=price instance=gpu-1 state=STOPPED price_per_hour=15.50 currency=USD"
        " price_kind=configured price_as_of=2026-11-20 cap_per_hour=14.00 holds=none"
        ' why="above the cap; read again in 60 s"'
    )


def test_row_17_price_unknown() -> None:
    """With a cap, a price that cannot be read starts nothing (complaint 32)."""
    assert said(stopped(-60), look(price=Unreadable("timeout:10s")), 0) == (
        "decision=price-unknown instance=gpu-1 state=STOPPED error=timeout:10s cap_per_hour=14.00"
        ' currency=USD holds=none why="a cap is set and no price can be held against it: nothing'
        ' is started"'
    )


@pytest.mark.parametrize("cap", [Money(14.0, "EUR", "hour"), Money(14.0, "USD", "minute")])
def test_row_17_a_price_in_other_units_is_no_price(cap: Money) -> None:
    """14 EUR is no limit for 11.60 USD, and neither is one per minute."""
    policy = replace(POLICY, grant=Grant(price_cap=cap))
    assert decide(stopped(-60), look(price=PRICE), policy, now(0)).word == "price-unknown"


def test_row_17_without_a_cap_an_unreadable_price_is_only_recorded() -> None:
    """It starts, and the line says that the price could not be read."""
    policy = replace(POLICY, grant=Grant())
    line = decide(stopped(-60), look(price=Unreadable("timeout:10s")), policy, now(0)).line()
    assert line == (
        "decision=start instance=gpu-1 state=STOPPED stopped_s=60 starts=1 price_error=timeout:10s"
        " spent=0.00 window_s=900 holds=none next_s=10"
    )


# Row 18


def test_row_18_start() -> None:
    """The number of the start, its price, cap, what was spent and how long its window is."""
    memory = stopped(-64, starts=6, spent=219.2412)
    assert said(memory, look(price=PRICE), 0) == (
        "decision=start instance=gpu-1 state=STOPPED stopped_s=64 starts=7 price_per_hour=11.60"
        " currency=USD price_kind=configured price_as_of=2026-11-20 cap_per_hour=14.00"
        " spent=219.24 window_s=900 holds=none next_s=10"
    )


@pytest.mark.parametrize(
    ("age_s", "expected"), [(14.9, "start"), (15.0, "changed"), (15.1, "changed")]
)
def test_row_18_an_old_look_starts_nothing(age_s: float, expected: str) -> None:
    """Younger than 15 s; at equal it is old."""
    assert word(stopped(-60), look(price=PRICE), age_s) == expected


def test_row_18_changed() -> None:
    """The line says how old the look is."""
    assert said(stopped(-60), look(price=PRICE), 15) == (
        "decision=changed instance=gpu-1 state=STOPPED observation_age_s=15 holds=none"
        ' why="the look is older than 15 s; looking again"'
    )


def test_row_18_another_owner_in_the_second_list_is_a_change() -> None:
    """Whoever appeared between the two LISTs may start it too."""
    seen = look(price=PRICE, store=sight(owners=("000002-b",)))
    assert word(stopped(-60), replace(seen, first_owners=("000001-a",)), 0) == "changed"
    assert word(stopped(-60), replace(seen, first_owners=("000002-b",)), 0) == "start"


# All rows


def test_every_line_carries_state_and_holds() -> None:
    """Also those that have nothing to say of either."""
    memories = [
        stopped(-60),
        stopped(0),
        stopped(-60, run=None),
        stopped(-60, ask=Ask(mark(0))),
        stopped(-60, file_hold=FileHold(mark(0), "")),
    ]
    looks = [look(price=PRICE), look(State.RUNNING), look(store=Unreadable("away"))]
    for memory in memories:
        for seen in looks:
            pairs = parse(decide(memory, seen, POLICY, now(0)).line())
            assert {"decision", "instance", "state", "holds"} <= set(pairs)
            assert next(iter(pairs)) == "decision"


def test_a_holds_file_of_no_instance_is_shown() -> None:
    """It is most likely the typo of somebody who believes the instance held."""
    seen = replace(look(State.RUNNING), strays=("gpu1",))
    line = said(Memory(word="RUNNING", since=mark(0)), seen, 60)
    assert "holds=none holds_of_no_instance=gpu1 next_s=60" in line


def test_what_moves_is_looked_at_more_often() -> None:
    """in_motion while something is on its way, every otherwise."""
    policy = replace(POLICY, poll=PollSettings(every_s=60, in_motion_s=10))
    for memory, seen, expected in (
        (stopped(0), look(), 10),
        (stopped(-60), look(price=PRICE), 10),
        (stopped(-60, run=None), look(), 60),
        (Memory(word="STOPPING", since=mark(0), file_hold=FileHold(mark(0), "")), look(), 10),
        (stopped(-60, owner=None), look(), 10),
        (stopped(-60, owner=Ownership(OTHER, 9)), look(), 60),
    ):
        assert pause_s(decide(memory, seen, policy, now(0)), memory, policy) == expected
