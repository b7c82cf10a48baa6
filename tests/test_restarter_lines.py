"""Whole lines and whole events: what waits, what has tripped, holds that come and go, windows that close."""

from dataclasses import replace
from datetime import timedelta

import pytest

from restarter_story import (
    CAP,
    GRANT,
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
from spoteval.config.grant import Grant
from spoteval.decision import Decision
from spoteval.event import Event
from spoteval.hold import Hold
from spoteval.provider.contract import Price, State
from spoteval.publication.listing import InstanceListing
from spoteval.settings.money import Money
from spoteval.shape import Unreadable
from spoteval_agents.restarter.case import Case, hold_text
from spoteval_agents.restarter.decide import decide
from spoteval_agents.restarter.holding import see_file_hold, see_store_holds
from spoteval_agents.restarter.intent import intend, placed
from spoteval_agents.restarter.placing import hold_for, reset
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.rows_wait import _backoff
from spoteval_agents.restarter.rules import retry_left_s, run_spent, run_starts, tripped, trying_s
from spoteval_agents.restarter.seen import Guest, Seen, StoreSight
from spoteval_agents.restarter.starts import see_reached, see_window
from spoteval_agents.restarter.state import (
    Ask,
    Counts,
    FileHold,
    KnownHold,
    Life,
    Ownership,
    Refusal,
    Stop,
    StopAsks,
)
from spoteval_agents.restarter.state import State as Memory

HEAD = {"at": "2026-12-01T12:10:00.000Z", "source": "restarter", "instance": "gpu-1"}
PATIENT = replace(POLICY, grant=replace(GRANT, failed_starts_s=None))
SPOT = Price(3.5, "USD", "hour", "spot", NOON)


def records(news: tuple[Event, ...]) -> list[dict[str, object]]:
    """The events as they stand in the log, without what all of these have."""
    found = [event.record() for event in news]
    assert all(item.items() >= HEAD.items() for item in found)
    return [{key: value for key, value in item.items() if key not in HEAD} for item in found]


def line(memory: Memory, seen: Seen, at_s: float = 600.0, policy: Policy = POLICY) -> str:
    """The line of the decision at that second."""
    return decide(memory, seen, policy, now(at_s)).line()


def rules(memory: Memory, grant: Grant, at_s: float = 600.0) -> Case:
    """One question under this grant."""
    return Case(memory, look(price=PRICE), replace(POLICY, grant=grant), now(at_s))


# Waits


@pytest.mark.parametrize(
    ("failures", "times"), [(1, "once"), (2, "twice"), (3, "3 times"), (4, "4 times")]
)
def test_backoff_says_how_often_and_until_when(failures: int, times: str) -> None:
    """With the rule that will hold in the end."""
    memory = stopped(failures=failures, failing_since=mark(0), failed_at=mark(590))
    found = line(memory, look(price=PRICE))
    wait = {1: "102.5", 2: "215", 3: "440", 4: "890"}[failures]
    assert found == (
        f"decision=backoff instance=gpu-1 state=STOPPED capacity_failures={failures} failing_s=600"
        f" rule_failed_starts_s=2700 wait_left_s={wait} holds=none"
        f' why="no capacity {times}; 35 min until hold-and-report"'
    )


def test_backoff_without_a_rule_says_when_it_tries_again() -> None:
    """And without a clock of failed starts, none is shown."""
    memory = stopped(failures=1, failed_at=mark(590))
    assert line(memory, look(price=PRICE), policy=PATIENT) == (
        "decision=backoff instance=gpu-1 state=STOPPED capacity_failures=1 wait_left_s=102.5"
        ' holds=none why="no capacity once; next try in 102 s"'
    )


def test_a_refusal_waits_in_its_own_words() -> None:
    """The kind stands in the line and in the sentence."""
    memory = stopped(refusal=Refusal(mark(590), "quota"), failing_since=mark(580))
    assert line(memory, look(price=PRICE), policy=PATIENT) == (
        "decision=backoff instance=gpu-1 state=STOPPED capacity_failures=0 refused=quota"
        ' failing_s=20 wait_left_s=102.5 holds=none why="the start was refused (quota);'
        ' next try in 102 s"'
    )


def test_the_rule_of_failed_starts_is_never_less_than_now() -> None:
    """At its limit the sentence says zero."""
    memory = stopped(failures=1, failing_since=mark(-2100), failed_at=mark(590))
    assert "backoff" not in line(memory, look(price=PRICE), policy=POLICY)
    waits = _backoff(Case(memory, look(price=PRICE), POLICY, now(600)), 10.0)
    assert "; 0.0 s until hold-and-report" in waits.line()


def test_the_loop_guard_says_the_last_cause() -> None:
    """Or that none is known."""
    for stop, cause, pair in (
        (None, "unknown", ""),
        (Stop("preempted", "x", 3.0), "preempted", " cause=preempted"),
    ):
        memory = stopped(counts=Counts(short_runs=5), stop=stop)
        assert line(memory, look(price=PRICE)) == (
            "decision=loop-guard instance=gpu-1 state=STOPPED short_runs=5 limit=5"
            f" short_run_s=600{pair} pause_s=1800 wait_left_s=1200 holds=none"
            f' why="5 runs in a row ended within 10 min of RUNNING (last: {cause});'
            ' next try in 20 min"'
        )


def test_what_runs_says_what_its_guest_said() -> None:
    """A guest whose clock is not believed has no age."""
    memory = Memory(word="RUNNING", since=mark(0), run=RUN, life=Life(mark(0)))
    for age_s, pair in ((12.34, " guest_age_s=12.3"), (None, "")):
        seen = replace(look(State.RUNNING), guest=Guest(age_s, 5, 24, 3))
        assert line(memory, seen) == (
            "decision=running instance=gpu-1 state=RUNNING up_s=600 run=swe-lite-q3 finished=5"
            f" intended=24 in_flight=3{pair} holds=none next_s=60"
        )


@pytest.mark.parametrize(("own", "expected"), [(True, "provider-restarts"), (False, "start")])
def test_row_11_only_where_the_provider_says_so(own: bool, expected: str) -> None:
    """Everywhere else a start of ours is what brings it back."""
    seen = look(price=PRICE, at_s=599, auto_restart=own)
    assert decide(stopped(), seen, POLICY, now(600)).word == expected


# Owners and prices


def test_a_host_without_a_name_owns_nothing() -> None:
    """The line says why."""
    policy = replace(POLICY, identity=Unreadable("state/identity: Permission denied"))
    assert line(stopped(), look(price=PRICE), policy=policy) == (
        "decision=not-owner instance=gpu-1 state=STOPPED"
        ' error="state/identity: Permission denied" holds=none'
        ' why="this host has no name, and so owns nothing"'
    )


def test_owners_that_change_between_two_lists() -> None:
    """Whoever appeared may know nothing of this start."""
    seen = replace(look(price=PRICE, at_s=599), first_owners=())
    assert line(stopped(owner=Ownership(OWNED.identity, 3)), seen) == (
        "decision=changed instance=gpu-1 state=STOPPED holds=none"
        ' why="another restarter appeared in between; looking again"'
    )


@pytest.mark.parametrize(
    ("price", "cap", "error"),
    [
        (replace(PRICE, currency="EUR"), CAP, "price in EUR per hour, cap in USD per hour"),
        (replace(PRICE, per="day"), CAP, "price in USD per day, cap in USD per hour"),
        (
            replace(PRICE, per="hour"),
            replace(CAP, per="day"),
            "price in USD per hour, cap in USD per day",
        ),
        (
            replace(PRICE, per="day"),
            Money(14.0, "USD"),
            "price in USD per day, cap in USD per hour",
        ),
    ],
)
def test_a_price_that_cannot_be_held_against_the_cap_says_why(
    price: Price, cap: Money, error: str
) -> None:
    """Another currency, or another time."""
    policy = replace(POLICY, grant=Grant(price_cap=cap))
    found = decide(stopped(), look(price=price), policy, now(600))
    assert (found.word, found.pairs["error"]) == ("price-unknown", error)


def test_a_cap_without_a_time_is_one_per_hour() -> None:
    """As prices are."""
    policy = replace(POLICY, grant=Grant(price_cap=Money(14.0, "USD")))
    assert decide(stopped(), look(price=PRICE, at_s=599), policy, now(600)).word == "start"


def test_a_price_of_the_provider_has_a_moment() -> None:
    """And one from a file a date."""
    seen = look(price=SPOT, at_s=599)
    assert line(stopped(), seen) == (
        "decision=start instance=gpu-1 state=STOPPED stopped_s=600 starts=1 price_per_hour=3.50"
        " currency=USD price_kind=spot price_as_of=2026-12-01T12:00:00.000Z cap_per_hour=14.00"
        " spent=0.00 window_s=900 holds=none next_s=10"
    )


# Rules


def test_rules_name_their_figures() -> None:
    """Limit and what was seen, for each of them."""
    limits = Grant(
        preemptions_before_healthy=2,
        preemptions_before_episodes=(3, 20),
        spend=Money(10.0, "USD"),
        starts=4,
        failed_starts_s=600.0,
    )
    for memory, rule, pairs, text in (
        (
            stopped(failures=1, failing_since=mark(0), failed_at=mark(600)),
            "failed_starts",
            {"limit_s": 600.0, "seen_s": 600.0},
            "10 min of failed starts",
        ),
        (
            stopped(counts=Counts(unhealthy=2)),
            "preemptions_before_healthy",
            {"limit": 2, "seen": 2},
            "2 preemptions in a row before it was healthy",
        ),
        (
            stopped(counts=Counts(interrupted=3, finished=19)),
            "preemptions_before_episodes",
            {"limit": 3, "seen": 3, "episodes": 20, "finished": 19},
            "3 preemptions and 19 episodes of 20 finished",
        ),
        (
            stopped(counts=Counts(faceless=2)),
            "no_facts",
            {"limit": 2, "seen": 2},
            "2 boots in a row that ran and whose guest said nothing",
        ),
        (
            stopped(spent=12.0, counts=Counts(spent_from=2.0)),
            "spend",
            {"limit": "10.00", "seen": "10.00", "currency": "USD"},
            "10.00 of 10.00 USD spent",
        ),
        (
            stopped(price=replace(PRICE, currency="EUR")),
            "currency",
            {"limit": "USD", "seen": "EUR"},
            "a spend limit in USD, prices in EUR",
        ),
        (stopped(starts=4), "starts", {"limit": 4, "seen": 4}, "4 starts of 4"),
    ):
        trip = tripped(rules(memory, limits))
        assert trip is not None
        assert (trip.rule, trip.pairs, trip.text) == (rule, pairs, text)


def test_the_grant_names_its_figures() -> None:
    """Until when, which type, which region."""
    for policy, rule, pairs, text in (
        (
            replace(POLICY, grant=Grant(until=NOON + timedelta(seconds=590))),
            "until",
            {"limit": "2026-12-01T12:09:50.000Z", "seen_s": 10.0},
            "granted until 2026-12-01T12:09:50.000Z",
        ),
        (
            replace(POLICY, grant=Grant(types=("a", "b")), type="c"),
            "type",
            {"limit": "a,b", "seen": "c"},
            "type c is outside the grant",
        ),
        (
            replace(POLICY, grant=Grant(regions=("eu",))),
            "region",
            {"limit": "eu", "seen": "none"},
            "region unknown is outside the grant",
        ),
    ):
        trip = tripped(Case(stopped(), look(price=PRICE), policy, now(600)))
        assert trip is not None
        assert (trip.rule, trip.pairs, trip.text) == (rule, pairs, text)


def test_what_was_before_this_run_does_not_count() -> None:
    """And nothing is less than nothing."""
    for from_, left in ((0, 3), (3, 0), (4, 0)):
        memory = stopped(starts=3, spent=3.0, counts=Counts(starts_from=from_, spent_from=from_))
        assert (run_starts(memory), run_spent(memory)) == (left, float(left))


def test_the_clock_of_failed_starts() -> None:
    """None where nothing failed; it stands while nothing keeps it from trying but something else."""
    policy = replace(POLICY, grant=Grant())
    assert trying_s(stopped(), policy, now(600)) == 0.0
    failing = stopped(failures=1, failing_since=mark(0), failed_at=mark(0))
    assert trying_s(failing, policy, now(100)) == 100.0
    assert trying_s(failing, policy, now(112.5)) == 112.5
    assert trying_s(failing, policy, now(600)) == 112.5
    odd = replace(failing, failing_since=mark(590))
    assert trying_s(odd, policy, now(600)) == 0.0


def test_a_wait_is_the_longer_of_two() -> None:
    """After a failure and after a refusal."""
    memory = stopped(failures=2, failed_at=mark(0), refusal=Refusal(mark(0), "auth"))
    assert retry_left_s(memory, POLICY, now(100)) == 125.0
    assert retry_left_s(replace(memory, failed_at=None), POLICY, now(100)) == 12.5
    assert retry_left_s(stopped(), POLICY, now(100)) == 0.0


def test_an_open_start_moves_the_clock_on_only_by_what_was_no_try() -> None:
    """Nothing, where the wait is just over."""
    memory = stopped(failures=1, failing_since=mark(0), failed_at=mark(487.5))
    state, _ = intend(Decision("start"), memory, look(price=PRICE), POLICY, now(600))
    assert state.failing_since == mark(0)
    state, _ = intend(Decision("start"), memory, look(price=PRICE), POLICY, now(630))
    assert state.failing_since == mark(30)


# Holds


def test_a_hold_that_is_seen_goes_on_record_whole() -> None:
    """With its reason and all that it asks for."""
    body = hold("end-1", ensure_stopped=True)
    state, news = see_store_holds(stopped(), look(store=sight(body)), POLICY, now(600))
    assert records(news) == [{"kind": "hold-seen", "reason": "tp 4 -> 8", "detail": body.record()}]
    assert state.holds == (KnownHold(body, mark(600)),)


def test_a_hold_that_is_lifted_goes_on_record_and_settles_what_was_told() -> None:
    """What tripped it begins anew at this moment."""
    body = replace(hold("over-running-x"), reason="over")
    memory = stopped(
        holds=(KnownHold(body, mark(0)),), told=("over-running-x",), over_since=mark(0)
    )
    seen = look(store=sight(body, released=("over-running-x",)))
    state, news = see_store_holds(memory, seen, POLICY, now(600))
    assert records(news) == [
        {"kind": "hold-gone", "reason": "over", "detail": {"id": "over-running-x"}},
        {"kind": "cleared", "reason": "its hold was lifted", "detail": {"topic": "over-running-x"}},
    ]
    assert (state.holds, state.told, state.over_since) == ((), (), mark(600))


def test_the_touch_file_goes_on_record_when_it_comes_and_goes() -> None:
    """Under the name of whoever has a shell here."""
    state, news = see_file_hold(stopped(), look(file_hold="tp"), POLICY, now(600))
    assert records(news) == [{"kind": "hold-seen", "reason": "tp", "detail": {"id": "operator"}}]
    assert state.file_hold == FileHold(mark(600), "tp")
    state, news = see_file_hold(state, look(), POLICY, now(600))
    assert records(news) == [{"kind": "hold-gone", "reason": "tp", "detail": {"id": "operator"}}]
    assert state.file_hold is None


@pytest.mark.parametrize("local", [False, True])
def test_its_own_hold_goes_on_record_and_to_a_person(local: bool) -> None:
    """Known from here on, in order; put where others see it later."""
    policy = replace(POLICY, local=local)
    other = KnownHold(hold("zz"), mark(0))
    decision = Decision("gone", {"action": "hold"}, "it is gone; held")
    state, news = intend(decision, stopped(holds=(other,)), look(), policy, now(600))
    own = hold_for(decision, policy, now(600))
    assert own.at == now(600).wall
    assert state.holds == (KnownHold(own, mark(600), placed=False, local=local), other)
    assert records(news) == [
        {
            "kind": "hold-seen",
            "reason": "it is gone; held",
            "evidence": "gone",
            "detail": {**own.record(), "own": True, "local": local},
        },
        {
            "kind": "needs_you",
            "reason": "held: it is gone; held",
            "detail": {"topic": own.id, "command": "spoteval hold release gpu-1"},
        },
    ]
    assert state.told == (own.id,)


def test_a_decision_without_a_sentence_holds_in_its_own_word() -> None:
    """A hold always says why."""
    assert hold_for(Decision("gone"), POLICY, now(600)).reason == "gone"


def test_only_the_hold_that_was_put_is_put() -> None:
    """Others wait on."""
    one, two = (KnownHold(hold(name), mark(0), placed=False) for name in ("a", "b"))
    after = placed(stopped(holds=(one, two)), "a")
    assert after.holds == (replace(one, placed=True), two)


def test_a_hold_of_nobody_has_no_brackets() -> None:
    """Who placed it stands behind the reason, where that is known."""
    assert hold_text(Hold("a", "gpu-1", "why", "")) == "why"
    assert hold_text(Hold("a", "gpu-1", "why", "ana")) == "why (ana)"


def test_the_hold_that_stops_first_is_the_one_whose_grace_ends_first() -> None:
    """Not the first by name, nor the one seen first."""
    early = KnownHold(hold("b", ensure_stopped=True, stop_after_s=60), mark(10))
    late = KnownHold(hold("a", ensure_stopped=True, stop_after_s=600), mark(0))
    case = Case(stopped(holds=(late, early)), look(), POLICY, now(20))
    assert case.stop_hold == early
    assert (case.stop_in_s(early), case.stop_in_s(late)) == (50.0, 580.0)


def test_a_hold_of_a_fixed_rule_waives_it() -> None:
    """Once, and beside those that were waived before."""
    state = reset("rule-until-20261201T120000-aaaa", stopped(waived=("type",)), now(600))
    assert state == stopped(waived=("type", "until"))
    assert reset("rule-until-x", state, now(600)) == state


# Windows and lives


def test_a_window_that_closes_goes_on_record_whole() -> None:
    """What was answered, what was seen, the price; a refusal of before is over."""
    ask = Ask(mark(-300), "error:no capacity", price=PRICE)
    memory = stopped(ask=ask, failures=1, refusal=Refusal(mark(-900), "auth"))
    state, news = see_window(memory, look(), POLICY, now(600))
    assert records(news) == [
        {
            "kind": "capacity-failure",
            "reason": "error:no capacity",
            "evidence": "STOPPED when the window closed",
            "price": PRICE.record(),
            "detail": {"failures": 2, "window_s": 900.0},
        }
    ]
    assert state == replace(
        memory, ask=None, failures=2, failing_since=mark(-300), failed_at=mark(600), refusal=None
    )


@pytest.mark.parametrize(
    ("memory", "reason", "asked_s", "life"),
    [
        (
            stopped(ask=Ask(mark(500), price=SPOT, boot_seq=4), price=PRICE),
            None,
            100.0,
            Life(mark(600), SPOT, 4),
        ),
        (
            stopped(ask=Ask(mark(500), recovered=True), price=PRICE, counts=Counts(boot_seq=2)),
            "not asked for by this restarter",
            None,
            Life(mark(600), PRICE, 2),
        ),
        (
            stopped(failures=1, price=PRICE),
            "later than the window of its start",
            None,
            Life(mark(600), PRICE, 0),
        ),
    ],
)
def test_a_start_that_is_reached_goes_on_record(
    memory: Memory, reason: str | None, asked_s: float | None, life: Life
) -> None:
    """By whom it was asked for, as far as that is known; the life has the price of its request."""
    state, news = see_reached(memory, look(State.RUNNING), POLICY, now(600))
    record: dict[str, object] = {"kind": "running", "evidence": "RUNNING"}
    record |= {"reason": reason} if reason is not None else {}
    asked = {"asked_s": asked_s} if asked_s is not None else {}
    assert records(news) == [record | {"detail": {"boot_seq": life.boot_seq, **asked}}]
    assert (state.life, state.ask, state.failures) == (life, None, 0)


def test_what_runs_again_owes_no_stop_and_took_milliseconds_to_come() -> None:
    """Requests to stop were those of the life before."""
    memory = stopped(ask=Ask(mark(500)), stop_asks=StopAsks(mark(400), 2))
    state, news = see_reached(memory, look(State.RUNNING), POLICY, now(600.12345))
    assert (state.stop_asks, news[0].detail["asked_s"]) == (None, 100.123)


def test_a_window_ends_quietly_where_a_life_goes_on() -> None:
    """One that nobody knew of, after a takeover: it runs, and what runs was told."""
    lives = replace(stopped(), word="RUNNING", life=Life(mark(0), PRICE))
    open_ = replace(lives, ask=Ask(mark(500), recovered=True))
    for memory in (open_, lives):
        assert see_reached(memory, look(State.RUNNING), POLICY, now(600)) == (lives, ())


def test_a_start_of_others_is_reached_when_it_runs_or_is_over() -> None:
    """STARTING by itself is neither, however new it is; a life that goes on is no second one."""
    memory = stopped(last_start=NOON)
    newer = NOON + timedelta(seconds=1)
    starts = look(State.STARTING, last_start=newer)
    assert see_reached(memory, starts, POLICY, now(600)) == (memory, ())
    state, news = see_reached(memory, look(last_start=newer), POLICY, now(600))
    assert (state.life, news[0].evidence) == (Life(mark(600)), "newer-start")
    lives = replace(memory, life=Life(mark(0)))
    assert see_reached(lives, look(last_start=newer), POLICY, now(600)) == (lives, ())


def test_a_window_that_has_passed_has_nothing_left() -> None:
    """Not less; the verdict comes with the next look that is understood."""
    found = line(stopped(ask=Ask(mark(-900), "accepted")), look())
    assert found == (
        "decision=start-pending instance=gpu-1 state=STOPPED asked_s=1500 reply=accepted"
        ' window_left_s=0 holds=none why="the call was accepted; only RUNNING counts"'
    )


def test_a_listed_hold_without_a_body_is_a_hold_of_this_instance() -> None:
    """Its key says so."""
    seen = look(store=StoreSight(InstanceListing(frozenset(["x"])), (), RUN))
    state, _ = see_store_holds(stopped(), seen, POLICY, now(600))
    unread = Hold("x", "gpu-1", "unreadable hold: no body", "unknown")
    assert state.holds == (KnownHold(unread, mark(600)),)
