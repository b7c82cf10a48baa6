"""What is said and kept word for word: events of requests, stops and holds, and sentences for people."""

from dataclasses import replace
from datetime import timedelta

import pytest

from restarter_story import NOON, OWNED, POLICY, PRICE, RUN, hold, look, mark, now, sight, stopped
from spoteval.decision import Decision
from spoteval.event import Event
from spoteval.provider.contract import Observation, Price, Reply, State
from spoteval.publication.listing import Fact
from spoteval.settings.money import Money
from spoteval.shape import Unreadable
from spoteval_agents.restarter.case import Case, how_many, rate, span
from spoteval_agents.restarter.cause import cause_of, reason_of
from spoteval_agents.restarter.decide import decide
from spoteval_agents.restarter.holding import see_file_hold, see_run
from spoteval_agents.restarter.intent import answered, intend, withdrawn
from spoteval_agents.restarter.lives import cost, see_missed_stop, see_stopped
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.starts import see_window
from spoteval_agents.restarter.state import (
    Ask,
    FileHold,
    KnownHold,
    Life,
    StopAsks,
)
from spoteval_agents.restarter.state import State as Memory

RUNS = Memory(
    word="RUNNING", since=mark(0), life=Life(mark(0), PRICE), run=RUN, price=PRICE, owner=OWNED
)
WANTS_OFF = KnownHold(hold("end-1", ensure_stopped=True), mark(-900))
DEAR = Price(2.0, "EUR", "day", "spot", NOON)
HEAD = {"at": "2026-12-01T12:10:00.000Z", "source": "restarter", "instance": "gpu-1"}


def records(news: tuple[Event, ...]) -> list[dict[str, object]]:
    """The events as they stand in the log, without what all of these have."""
    found = [event.record() for event in news]
    assert all(item.items() >= HEAD.items() for item in found)
    return [{key: value for key, value in item.items() if key not in HEAD} for item in found]


def case(memory: Memory, seen: Seen | None = None, at_s: float = 600.0) -> Case:
    """One question at that second."""
    return Case(memory, look(State.RUNNING) if seen is None else seen, POLICY, now(at_s))


# Requests


def test_a_start_goes_on_record_with_its_price() -> None:
    """Number and price, and what was newest before it."""
    memory = stopped(starts=4, last_start=NOON)
    seen = look(price=PRICE, store=sight(facts=(Fact(6, "s6", "booted"),)))
    state, news = intend(Decision("start"), memory, seen, POLICY, now(600))
    assert records(news) == [
        {"kind": "start-asked", "price": PRICE.record(), "detail": {"starts": 5, "boot_seq": 6}}
    ]
    assert state == replace(memory, starts=5, ask=Ask(mark(600), None, None, PRICE, NOON, 6))


def test_a_start_without_a_price_says_why() -> None:
    """And without a store no boot is known to be older."""
    seen = look(price=Unreadable("timeout:10s"), store=Unreadable("away"))
    state, news = intend(Decision("start"), stopped(), seen, POLICY, now(600))
    assert records(news) == [
        {
            "kind": "start-asked",
            "detail": {"starts": 1, "boot_seq": 0, "price_error": "timeout:10s"},
        }
    ]
    assert state.ask == Ask(mark(600))


@pytest.mark.parametrize(
    ("decision", "before", "evidence", "count"),
    [
        (Decision("stop", {"hold": "end-1"}), None, "hold:end-1", 1),
        (Decision("stop", {"hold": "end-1"}), 4, "hold:end-1", 5),
        (Decision("start-stuck", {"action": "stop"}), None, "start-stuck", 1),
    ],
)
def test_a_stop_goes_on_record_with_its_reason(
    decision: Decision, before: int | None, evidence: str, count: int
) -> None:
    """The hold that wants it, or the row, and the number of the request."""
    memory = replace(RUNS, stop_asks=StopAsks(mark(0), before) if before is not None else None)
    state, news = intend(decision, memory, look(State.RUNNING), POLICY, now(600))
    assert records(news) == [
        {"kind": "stop-asked", "evidence": evidence, "detail": {"stops": count}}
    ]
    assert state == replace(memory, stop_asks=StopAsks(mark(600), count))


def test_what_was_not_asked_for_is_withdrawn_with_its_reason() -> None:
    """The request is taken back, and its number too."""
    memory = stopped(starts=4, ask=Ask(mark(590)))
    state, news = withdrawn(memory, POLICY, now(600), "late")
    assert records(news) == [{"kind": "start-withdrawn", "reason": "late"}]
    assert state == replace(memory, starts=3, ask=None)


@pytest.mark.parametrize("word", ["running", "held", "price", "gone"])
def test_a_decision_that_does_nothing_leaves_nothing(word: str) -> None:
    """No event, no change."""
    assert intend(Decision(word), RUNS, look(), POLICY, now(600)) == (RUNS, ())


# Answers and refusals


@pytest.mark.parametrize(
    ("refused", "reply", "reason", "evidence"),
    [
        ("quota", "error:vcpu limit", "error:vcpu limit", "quota"),
        ("auth", None, "auth", "auth"),
    ],
)
def test_a_refusal_is_told_by_its_answer(
    refused: str, reply: str | None, reason: str, evidence: str
) -> None:
    """Or by its kind, where the answer is not on record."""
    memory = stopped(ask=Ask(mark(590), reply, refused, still=1))
    _, news = see_window(memory, look(), POLICY, now(600))
    assert records(news) == [{"kind": "start-refused", "reason": reason, "evidence": evidence}]


# Stops


def test_a_stop_goes_on_record_whole() -> None:
    """How long it ran, what all cost so far, what its guest said, and whose event it is."""
    memory = replace(RUNS, spent=1.0, last_start=NOON)
    facts = tuple(Fact(1, "s1", name) for name in ("booted", "healthy"))
    seen = look(store=sight(facts=facts), last_start=NOON + timedelta(seconds=1))
    state, news = see_stopped(memory, seen, POLICY, now(600))
    detail = {
        "up_s": 600.0,
        "spent": 2.9333,
        "short": True,
        "booted": True,
        "healthy": True,
        "held": False,
        "boot_seq": 1,
        "last_start": "2026-12-01T12:00:01.000Z",
    }
    assert records(news) == [
        {"kind": "stopped", "reason": "unknown", "evidence": "none", "detail": detail}
    ]
    assert (state.word, state.since, state.life) == ("STOPPED", mark(600), None)


def test_the_length_of_a_life_is_kept_in_milliseconds() -> None:
    """As moments are."""
    state, _ = see_stopped(RUNS, look(), POLICY, now(600.12345))
    assert state.stop is not None
    assert state.stop.up_was_s == 600.123


@pytest.mark.parametrize(("up_s", "short"), [(600.0, True), (600.001, False)])
def test_a_short_run_is_one_of_ten_minutes_or_less(up_s: float, short: bool) -> None:
    """At the limit it is short."""
    state, news = see_stopped(RUNS, look(), POLICY, now(up_s))
    assert (news[0].detail["short"], state.counts.short_runs) == (short, int(short))


def test_a_life_without_a_price_costs_nothing_that_is_known() -> None:
    """And one with a price, its hours."""
    assert cost(Life(mark(0)), 7200) == 0.0
    assert cost(Life(mark(0), PRICE), 7200) == 23.2


def test_silence_ends_with_its_life() -> None:
    """The next one is measured anew."""
    state, _ = see_stopped(replace(RUNS, silent=mark(0)), look(), POLICY, now(600))
    assert state.silent is None


def test_the_next_boot_says_nothing_of_the_life_before() -> None:
    """The boots of a life end with the last one in it, also where the stop between them was not seen."""
    memory = replace(RUNS, life=Life(mark(0), PRICE, boot_seq=1, boot=2))
    facts = (Fact(2, "s2", "booted"), Fact(3, "s3", "booted"), Fact(3, "s3", "healthy"))
    seen = look(State.RUNNING, store=sight(facts=facts))
    state, _ = see_missed_stop(memory, seen, POLICY, now(600))
    assert state.stop is not None
    assert (state.stop.evidence, state.stop.booted, state.stop.healthy) == (
        "newer-boot",
        True,
        False,
    )


# Holds of this host alone


def test_removing_the_touch_file_lifts_each_hold_that_lay_in_it() -> None:
    """All of them are told, in order; one that was not placed yet, or that lies in the store, stands."""
    local = KnownHold(hold("a"), mark(0), local=True)
    others = (
        replace(local, hold=hold("c"), placed=False),
        KnownHold(hold("d"), mark(0)),
    )
    memory = stopped(
        file_hold=FileHold(mark(0), "tp"),
        holds=(local, replace(local, hold=hold("b")), *others),
    )
    state, news = see_file_hold(memory, look(), POLICY, now(600))
    assert (state.file_hold, state.holds) == (None, others)
    assert [(item["kind"], item["detail"]) for item in records(news)] == [
        ("hold-gone", {"id": name}) for name in ("operator", "a", "b")
    ]


# Causes


def test_a_guests_hold_speaks_only_for_its_own_life() -> None:
    """From the second in which it began on."""
    for since_s, expected in ((-1.0, "unknown"), (0.0, "guest"), (1.0, "guest")):
        memory = replace(RUNS, holds=(replace(WANTS_OFF, since=mark(since_s)),))
        assert cause_of(memory, look(), Observation(State.STOPPED), 0)[0] == expected


def test_a_guests_hold_speaks_where_no_life_was_seen() -> None:
    """Nothing says that it is of another."""
    memory = replace(RUNS, life=None, holds=(WANTS_OFF,))
    assert cause_of(memory, look(), None, 0) == ("guest", "hold:end-1")


@pytest.mark.parametrize("life", [None, Life(mark(0), boot_seq=2)])
@pytest.mark.parametrize("store", [Unreadable("away"), sight()])
def test_without_a_life_or_a_store_there_was_no_notice(
    life: Life | None, store: Unreadable | None
) -> None:
    """Either alone is enough."""
    memory = replace(RUNS, life=life)
    assert cause_of(memory, look(store=store), None, 3) == ("unknown", "none")


def test_the_providers_reason_has_its_own_words() -> None:
    """Or a name of ours where it gives a cause alone."""
    assert reason_of(Observation(State.STOPPED, cause="user", evidence="by ana")) == "by ana"
    assert reason_of(Observation(State.STOPPED, cause="user")) == "provider-reason"


# Assignments


def test_an_assignment_goes_on_record_whole() -> None:
    """Also whose rules are obeyed while its own cannot be read; none is on record as none."""
    over = replace(RUN, over="ended-fact", obeys="swe-lite-q3-1")
    for run, detail in (
        (RUN, {"run": "swe-lite-q3", "generation": 2, "over": None}),
        (
            over,
            {
                "run": "swe-lite-q3",
                "generation": 2,
                "over": "ended-fact",
                "rules_of": "swe-lite-q3-1",
            },
        ),
        (None, None),
    ):
        before = stopped(run=replace(RUN, generation=1))
        state, news = see_run(before, look(store=sight(run=run)), POLICY, now(600))
        assert state.run == run
        assert records(news) == [
            {"kind": "run-assigned"} | ({"detail": detail} if detail is not None else {})
        ]


# Sentences


def test_one_and_many() -> None:
    """One has no plural."""
    assert [how_many(count, "boot") for count in (0, 1, 2)] == ["0 boots", "1 boot", "2 boots"]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0.0 s"),
        (9.96, "10.0 s"),
        (10, "10 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7199, "120 min"),
        (7200, "2.0 h"),
        (9000, "2.5 h"),
    ],
)
def test_spans(seconds: float, expected: str) -> None:
    """Seconds, minutes, hours, each from its limit on."""
    assert span(seconds) == expected


def test_rates() -> None:
    """As people say them."""
    assert rate(None) is None
    assert rate(Money(0.5, "EUR", "hour")) == "0.50 EUR/h"


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (RUNS, "at 11.60 USD/h"),
        (replace(RUNS, price=DEAR), "at 11.60 USD/h"),
        (replace(RUNS, life=Life(mark(0), DEAR)), "at 2.00 EUR/day"),
        (replace(RUNS, life=Life(mark(0))), "at 11.60 USD/h"),
        (replace(RUNS, life=None), "at 11.60 USD/h"),
        (replace(RUNS, life=None, price=None), "at a price that is not known"),
    ],
)
def test_what_it_costs_while_it_is_on(memory: Memory, expected: str) -> None:
    """The price of its own life before the last one that was read."""
    assert case(memory).on_costs == expected


@pytest.mark.parametrize(
    ("price", "expected"),
    [
        (None, "nothing is running"),
        (Money(0.05, "USD", "hour"), "nothing is running, disks cost 0.05 USD/h"),
    ],
)
def test_what_it_costs_while_it_is_off(price: Money | None, expected: str) -> None:
    """Disks go on costing."""
    policy = replace(POLICY, stopped_price=price)
    assert Case(stopped(), look(), policy, now()).off_costs == expected


# Lines


def test_every_hold_stands_in_the_line() -> None:
    """One behind the other, and what may stand besides last."""
    known = tuple(KnownHold(hold(name), mark(0)) for name in ("a", "b"))
    memory = stopped(file_hold=FileHold(mark(0), ""), holds=known)
    assert case(memory, look(store=Unreadable("away"))).holds_word == "operator,a,b,unreadable"
    seen = replace(look(), strays=("gpu1", "gpu_1"))
    assert " holds=operator,a,b holds_of_no_instance=gpu1,gpu_1 " in line(memory, seen, 600)


def test_every_line_says_whose_rules_are_obeyed() -> None:
    """Where they are not the run's own."""
    memory = stopped(run=replace(RUN, obeys="swe-lite-q3-1"), file_hold=FileHold(mark(0), "x"))
    assert " rules_of=swe-lite-q3-1 " in line(memory, look(), 600)
    assert " rules_of=" not in line(replace(memory, run=RUN), look(), 600)
    assert " rules_of=" not in line(replace(memory, run=None), look(), 600)


def test_a_state_that_was_never_seen_has_not_lasted() -> None:
    """Not a second."""
    assert case(Memory()).in_state_s == 0.0


def line(memory: Memory, seen: Seen, at_s: float, policy: Policy = POLICY) -> str:
    """The line of the decision at that second."""
    return decide(memory, seen, policy, now(at_s)).line()


def test_a_stop_request_has_its_number() -> None:
    """One more than there were."""
    memory = replace(RUNS, holds=(WANTS_OFF,), stop_asks=StopAsks(mark(0), 4))
    assert "decision=stop" in line(memory, look(State.RUNNING), 2000)
    assert " stops=5 " in line(memory, look(State.RUNNING), 2000)


@pytest.mark.parametrize(
    ("ask", "at_s", "expected"),
    [
        (None, 30, "starting_s=30"),
        (Ask(mark(0), recovered=True), 30, "starting_s=30"),
        (Ask(mark(-10)), 30, "asked_s=40 window_left_s=860"),
        (Ask(mark(-10)), 890, "asked_s=900 window_left_s=0"),
        (Ask(mark(-10)), 900, "asked_s=910 window_left_s=0"),
    ],
)
def test_a_start_under_way_says_how_long_its_window_is(
    ask: Ask | None, at_s: float, expected: str
) -> None:
    """Where it is known when it was asked for."""
    memory = replace(RUNS, word="STARTING", life=None, ask=ask)
    assert line(memory, look(State.STARTING), at_s) == (
        f"decision=starting instance=gpu-1 state=STARTING {expected} holds=none next_s=10"
    )


def test_answers_are_told_in_the_words_of_the_provider() -> None:
    """Accepted, its own words, or the kind alone."""
    memory = stopped(ask=Ask(mark(590)))
    for reply, text in (
        (Reply(ok=True, kind="accepted", detail="x"), "accepted"),
        (Reply(ok=False, kind="quota", detail="vcpu limit"), "error:vcpu limit"),
        (Reply(ok=False, kind="quota"), "error:quota"),
    ):
        state, news = answered("start", memory, reply, POLICY, now(600))
        assert records(news) == [{"kind": "start-answered", "reason": text, "evidence": reply.kind}]
        refused = "quota" if reply.kind == "quota" else None
        assert state.ask == replace(Ask(mark(590)), reply=text, refused=refused)
        stop = answered("stop", memory, reply, POLICY, now(600))
        assert (stop[0], stop[1][0].kind) == (memory, "stop-answered")
