"""What the restarter makes of a look: starts reached and failed, stops and their cause, holds, counters."""

from dataclasses import replace
from datetime import timedelta

import pytest

from restarter_story import NOON, OWNED, POLICY, PRICE, RUN, hold, look, mark, now, sight, stopped
from spoteval.event import NEEDS_YOU, Event
from spoteval.provider.contract import State
from spoteval.publication.listing import Fact
from spoteval.shape import Unreadable
from spoteval_agents.restarter.observe import observe
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import (
    Ask,
    Assignment,
    FileHold,
    KnownHold,
    Life,
    Refusal,
    Stop,
    StopAsks,
    Unknown,
)
from spoteval_agents.restarter.state import State as Memory
from spoteval_agents.restarter.telling import CLEARED

AWAY = Unreadable("connection refused")
ASKED = Ask(mark(0), "error:500", price=PRICE, last_start=NOON, boot_seq=3)
RUNS = Memory(
    word="RUNNING",
    since=mark(0),
    life=Life(mark(0), PRICE, boot=1),
    run=RUN,
    spent=100.0,
    owner=OWNED,
)


def after(memory: Memory, seen: Seen, at_s: float) -> tuple[Memory, list[Event]]:
    """Memory and events after that look."""
    state, news = observe(memory, seen, POLICY, now(at_s))
    return state, list(news)


def kinds(memory: Memory, seen: Seen, at_s: float) -> list[str]:
    """The kinds of the events of that look."""
    return [event.kind for event in after(memory, seen, at_s)[1]]


def test_a_second_look_at_the_same_world_is_no_news() -> None:
    """What nothing changed is neither an event nor a write: the state is equal."""
    for seen in (look(), look(State.RUNNING, store=sight(hold())), look(file_hold="x")):
        once, _ = after(Memory(owner=OWNED), seen, 0)
        assert after(once, seen, 60) == (once, [])


# Starts


@pytest.mark.parametrize(
    ("seen", "evidence"),
    [
        (look(State.RUNNING), "RUNNING"),
        (look(State.STARTING, last_start=NOON + timedelta(seconds=1)), "newer-start"),
        (look(State.STOPPED, last_start=NOON + timedelta(seconds=1)), "newer-start"),
        (look(State.STARTING, store=sight(facts=(Fact(4, "s4", "booted"),))), "boot-fact"),
    ],
)
def test_a_start_is_reached_by_each_sign(seen: Seen, evidence: str) -> None:
    """RUNNING, a newer start or a newer boot: window and backoff are cleared at once (complaint 12)."""
    memory = stopped(ask=ASKED, failures=4, failing_since=mark(-900), failed_at=mark(-10))
    state, news = after(memory, seen, 30)
    assert (news[0].kind, news[0].evidence) == ("running", evidence)
    assert news[0].detail == {"boot_seq": 3, "asked_s": 30.0}
    assert (state.ask, state.failures, state.failing_since, state.failed_at) == (
        None,
        0,
        None,
        None,
    )


@pytest.mark.parametrize(
    "seen",
    [
        look(State.STARTING),
        look(State.STOPPED, last_start=NOON),
        look(State.STOPPED, last_start=NOON + timedelta(microseconds=999)),
        look(State.STARTING, store=sight(facts=(Fact(3, "s3", "booted"),))),
        look(State.STARTING, store=AWAY),
        look(None),
    ],
)
def test_a_start_is_not_reached_by_less(seen: Seen) -> None:
    """The last start, the last boot, STARTING, or no answer: the request stays open."""
    state, news = after(stopped(ask=ASKED), seen, 30)
    assert state.ask == ASKED
    assert not [event for event in news if event.kind == "running"]


@pytest.mark.parametrize(
    ("at_s", "expected"), [(899, []), (900, ["capacity-failure"]), (901, ["capacity-failure"])]
)
@pytest.mark.parametrize("state", [State.STOPPED, State.STARTING])
def test_a_window_that_closes_without_running_is_a_capacity_failure(
    state: State, at_s: float, expected: list[str]
) -> None:
    """At its second, also in STARTING, whatever the call answered (complaints 12 and 14)."""
    memory = stopped(word=state.value, ask=ASKED)
    found = [kind for kind in kinds(memory, look(state), at_s) if kind != NEEDS_YOU]
    assert found == expected


def test_a_capacity_failure_counts_and_starts_the_backoff() -> None:
    """Failing since the first request that failed; the event has price, answer and number."""
    memory = stopped(ask=ASKED, failures=1, failing_since=mark(-1000))
    state, (event,) = after(memory, look(), 900)
    assert (state.ask, state.failures) == (None, 2)
    assert (state.failing_since, state.failed_at) == (mark(-1000), mark(900))
    assert (event.reason, event.price) == ("error:500", PRICE.record())
    assert event.detail == {"failures": 2, "window_s": 900.0}
    first, _ = after(stopped(ask=ASKED), look(), 900)
    assert first.failing_since == mark(0)


def test_the_verdict_waits_for_an_answer_of_the_provider() -> None:
    """Unknown closes no window: the start may have been reached meanwhile."""
    state, news = after(stopped(ask=ASKED), look(None), 5000)
    assert (state.ask, state.failures, news) == (ASKED, 0, [])
    state, news = after(state, look(State.RUNNING), 5060)
    assert [event.kind for event in news] == ["running"]


def test_a_refusal_that_says_nothing_of_capacity_moves_no_backoff() -> None:
    """Its window closes under its own name."""
    memory = stopped(ask=replace(ASKED, reply="error:403", refused="auth"))
    state, (event, report) = after(memory, look(), 900)
    assert (event.kind, event.reason, event.evidence) == ("start-refused", "error:403", "auth")
    assert (state.ask, state.failures, state.failed_at) == (None, 0, None)
    assert (state.failing_since, state.refusal) == (mark(0), Refusal(mark(900), "auth"))
    assert (report.kind, report.reason) == (NEEDS_YOU, "the provider refuses the start: auth")


def test_a_start_of_nobody_knows_whom_closes_without_a_verdict() -> None:
    """After a loss of memory there may have been no request at all."""
    state, news = after(stopped(ask=Ask(mark(0), recovered=True)), look(), 900)
    assert (state.ask, state.failures, news) == (None, 0, [])


def test_a_start_that_comes_after_its_window_is_told_as_such() -> None:
    """It clears the failures like any other."""
    memory = stopped(word="STARTING", failures=1, failed_at=mark(0))
    state, (event,) = after(memory, look(State.RUNNING), 60)
    assert (event.kind, event.reason) == ("running", "later than the window of its start")
    assert state.failures == 0


def test_a_start_by_others_is_told_as_such() -> None:
    """Somebody else, or the provider, started it."""
    _, (event,) = after(stopped(), look(State.RUNNING), 60)
    assert (event.kind, event.reason) == ("running", "not asked for by this restarter")


def test_preempted_while_starting_leaves_one_window() -> None:
    """STARTING, STOPPED, STARTING: the request stays the one that is open (complaint 3)."""
    state = stopped(ask=ASKED)
    for at_s, word in ((10, State.STARTING), (20, State.STOPPED), (30, State.STARTING)):
        state, news = after(state, look(word), at_s)
        assert (state.ask, news) == (ASKED, [])


# Stops


def test_a_stop_has_cause_evidence_length_and_cost() -> None:
    """An hour at 11.60 costs 11.60."""
    facts = (Fact(3, "s3", "booted"), Fact(3, "s3", "notice"))
    state, (event,) = after(RUNS, look(store=sight(facts=facts)), 3600)
    assert (event.kind, event.reason, event.evidence) == ("stopped", "preempted", "guest-marker")
    assert event.detail == {
        "up_s": 3600.0,
        "spent": 111.6,
        "short": False,
        "booted": True,
        "healthy": False,
        "held": False,
        "boot_seq": 3,
    }
    assert state.stop == Stop("preempted", "guest-marker", 3600.0, booted=True, healthy=False)
    assert (state.life, state.since) == (None, mark(3600))
    assert state.spent == pytest.approx(111.6)


@pytest.mark.parametrize(
    ("memory", "seen", "cause"),
    [
        (RUNS, look(cause="preempted"), ("preempted", "provider-reason")),
        (RUNS, look(), ("unknown", "none")),
        (RUNS, look(store=AWAY), ("unknown", "none")),
        (RUNS, look(store=sight(facts=(Fact(3, "s3", "notice"), Fact(4, "s4", "booted"))))
         , ("unknown", "none")),
        (RUNS, look(cause="user", store=sight(facts=(Fact(3, "s3", "notice"),))),
         ("user", "provider-reason")),
        (RUNS, look(cause="guest", store=sight(hold("end-1"))), ("guest", "hold:end-1")),
        (RUNS, look(store=sight(hold("idle-1"))), ("guest", "hold:idle-1")),
        (RUNS, look(store=sight(hold("operator-1"))), ("unknown", "none")),
        (replace(RUNS, stop_asks=StopAsks(mark(1), 1)), look(cause="user"),
         ("restarter", "own-stop")),
    ],
)  # fmt: skip
def test_the_cause_has_the_best_evidence(
    memory: Memory, seen: Seen, cause: tuple[str, str]
) -> None:
    """Our own stop, the guest's intent, the provider's reason, the notice of that very boot; never the price."""
    state, _ = after(memory, seen, 60)
    assert state.stop is not None
    assert (state.stop.cause, state.stop.evidence) == cause


def test_the_grace_counts_from_the_first_look_that_saw_the_stop() -> None:
    """Later looks do not move it; a life that began and ended between two looks does."""
    state, _ = after(RUNS, look(), 100)
    state, _ = after(state, look(), 160)
    assert state.since == mark(100)
    newer = look(last_start=NOON + timedelta(seconds=200))
    state, news = after(replace(state, ask=replace(ASKED, at=mark(170))), newer, 220)
    assert [event.kind for event in news] == ["running", "stopped"]
    assert state.since == mark(220)


@pytest.mark.parametrize(
    "seen", [look(State.STARTING), look(State.RUNNING, last_start=NOON + timedelta(hours=1))]
)
def test_a_stop_between_two_looks_is_told(seen: Seen) -> None:
    """Running since a newer start, or starting again: it must have been off."""
    assert kinds(replace(RUNS, last_start=NOON), seen, 60)[0] == "stopped"


def test_stop_requests_are_forgotten_once_it_is_off_and_unbilled() -> None:
    """Stopped but billed is not off."""
    asks = StopAsks(mark(1), 2)
    billed, _ = after(replace(RUNS, stop_asks=asks), look(billed=True), 60)
    assert billed.stop_asks == asks
    billed, _ = after(billed, look(billed=True), 90)
    assert billed.stop_asks == asks
    for memory in (billed, replace(RUNS, stop_asks=asks)):
        off, _ = after(memory, look(billed=False), 120)
        assert off.stop_asks is None


# Unknown


def test_unknown_moves_no_counter_and_is_forgotten_by_the_first_good_look() -> None:
    """A hundred looks without an answer: everything else is as it was (complaint 1)."""
    state = RUNS
    for second in range(60, 6060, 60):
        state, _ = after(state, look(None), second)
    assert state.unknown == Unknown(mark(60), "timeout:20s", 100)
    assert replace(state, unknown=None, told=()) == RUNS
    state, (event,) = after(state, look(State.RUNNING), 6060)
    assert (state, event.kind, event.detail) == (RUNS, CLEARED, {"topic": "unknown"})


@pytest.mark.parametrize(("at_s", "expected"), [(899, []), (900, [NEEDS_YOU]), (901, [NEEDS_YOU])])
def test_unknown_is_reported_once_after_15_min(at_s: float, expected: list[str]) -> None:
    """At its second; never again in the same stretch; anew in the next one."""
    state, news = after(replace(RUNS, unknown=Unknown(mark(0), "x")), look(None), at_s)
    assert [event.kind for event in news] == expected
    assert not expected or kinds(state, look(None), at_s + 9000) == []
    well, _ = after(state, look(State.RUNNING), 10_000)
    ill, _ = after(well, look(None), 10_001)
    assert kinds(ill, look(None), 10_901) == [NEEDS_YOU]


# Holds


def test_a_hold_once_seen_ends_only_by_a_release_that_was_seen() -> None:
    """Not by a LIST without it, not by a store that is away."""
    state, news = after(stopped(), look(store=sight(hold())), 0)
    assert (news[0].kind, news[0].detail) == ("hold-seen", hold().record())
    for seen in (look(store=AWAY), look(store=sight()), look(None, store=AWAY)):
        state, news = after(state, seen, 60)
        assert (state.holds, news) == ((KnownHold(hold(), mark(0)),), [])
    state, (gone,) = after(state, look(store=sight(released=("operator-1",))), 120)
    assert (state.holds, gone.kind, gone.detail) == ((), "hold-gone", {"id": "operator-1"})


def test_a_hold_that_comes_as_another_goes_is_told_as_well() -> None:
    """The new one before the one that was lifted."""
    state, _ = after(stopped(), look(store=sight(hold("a"))), 0)
    state, news = after(state, look(store=sight(hold("a"), hold("b"), released=("a",))), 60)
    assert [item.hold.id for item in state.holds] == ["b"]
    assert [(event.kind, event.detail["id"]) for event in news] == [
        ("hold-seen", "b"),
        ("hold-gone", "a"),
    ]


def test_a_listed_hold_without_a_body_is_a_hold() -> None:
    """Its key says so; when the body can be read, it takes its place and keeps its age."""
    unread = replace(sight(hold(ensure_stopped=True)), bodies=())
    state, _ = after(stopped(), look(store=unread), 0)
    assert [item.hold.reason for item in state.holds] == ["unreadable hold: no body"]
    state, news = after(state, look(store=sight(hold(ensure_stopped=True))), 60)
    assert state.holds == (KnownHold(hold(ensure_stopped=True), mark(0)),)
    assert news == []


def test_the_touch_file_holds_while_it_is_there() -> None:
    """rm lifts it at the next look; unreadable is not gone; other text is no other hold."""
    state, (event,) = after(stopped(), look(file_hold="tp"), 0)
    assert (state.file_hold, event.kind) == (FileHold(mark(0), "tp"), "hold-seen")
    state, news = after(state, look(file_hold=AWAY), 60)
    assert (state.file_hold, news) == (FileHold(mark(0), "tp"), [])
    state, news = after(state, look(file_hold="tp 8"), 120)
    assert (state.file_hold, news) == (FileHold(mark(0), "tp 8"), [])
    state, (event,) = after(state, look(), 180)
    assert (state.file_hold, event.kind) == (None, "hold-gone")


def test_holds_are_remembered_whatever_the_provider_says() -> None:
    """The provider's silence keeps no hold from being seen."""
    state, _ = after(stopped(), look(None, store=sight(hold()), file_hold=""), 0)
    assert state.held


def test_unreadable_holds_are_reported_at_the_third_look() -> None:
    """Once; a look that reads them begins the count anew; a known hold makes it idle."""
    state, told = stopped(-900), []
    for second in range(5):
        state, news = after(state, look(store=AWAY), second)
        told.append([event.kind for event in news])
    assert told == [[], [], [NEEDS_YOU], [], []]
    state, _ = after(state, look(), 10)
    assert state.unheard == 0
    held = stopped(-900, file_hold=FileHold(mark(0), ""))
    assert after(held, look(store=AWAY, file_hold=""), 20)[0].unheard == 0
    assert after(RUNS, look(State.RUNNING, store=AWAY), 20)[0].unheard == 0


def test_a_mirrored_hold_is_one_whose_file_was_seen() -> None:
    """Only then does the absence of the file mean that a person removed it. Slashes in an id name no folder."""
    odd = hold("guest/../x")
    state, _ = after(stopped(), look(store=sight(hold(), odd)), 0)
    assert [item.mirrored for item in state.holds] == [False, False]
    names = frozenset(["operator-1", "guest%2F..%2Fx"])
    one = replace(look(store=sight(hold(), odd)), mirror=frozenset(["operator-1"]))
    assert [item.mirrored for item in after(state, one, 1)[0].holds] == [False, True]
    state, _ = after(state, replace(look(store=sight(hold(), odd)), mirror=names), 1)
    assert [item.mirrored for item in state.holds] == [True, True]
    state, _ = after(state, replace(look(store=sight(hold(), odd)), mirror=None), 2)
    assert [item.mirrored for item in state.holds] == [True, True]


# Run and price


def test_the_assignment_is_remembered_while_the_store_is_away() -> None:
    """Each change of it is an event."""
    over = replace(RUN, over="ended-fact")
    state, (event,) = after(stopped(), look(store=sight(run=over)), 0)
    assert (state.run, event.kind, event.detail["over"]) == (over, "run-assigned", "ended-fact")
    state, news = after(state, look(store=AWAY), 60)
    assert (state.run, news) == (over, [])
    state, _ = after(state, look(store=sight(run=Assignment("next", 1))), 120)
    assert state.run == Assignment("next", 1)


def test_a_price_is_news_when_it_changes() -> None:
    """The moment of its reading alone is none."""
    state, (event,) = after(stopped(), look(price=PRICE), 0)
    assert (event.kind, event.price) == ("price-read", PRICE.record())
    later = replace(PRICE, as_of=NOON)
    assert kinds(state, look(price=later), 60) == []
    assert kinds(state, look(price=replace(PRICE, amount=12.0)), 60) == ["price-read"]
    assert kinds(state, look(price=Unreadable("x")), 60) == []
