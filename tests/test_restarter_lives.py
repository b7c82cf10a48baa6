"""Lives and starts as the restarter counts them: what each stop counts for, what was missed, what was refused."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from restarter_story import (
    ME,
    NOON,
    OTHER,
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
from spoteval.event import NEEDS_YOU, Event
from spoteval.provider.contract import Observation, Reply, State
from spoteval.publication.listing import Fact
from spoteval.shape import Unreadable
from spoteval_agents.restarter.decide import decide
from spoteval_agents.restarter.intent import answered, intend
from spoteval_agents.restarter.lives import counted
from spoteval_agents.restarter.moments import latest
from spoteval_agents.restarter.observe import observe
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import (
    Ask,
    Assignment,
    Counts,
    KnownHold,
    Life,
    Refusal,
    Stop,
    StopAsks,
)
from spoteval_agents.restarter.state import State as Memory

AWAY = Unreadable("connection refused")
RUNS = Memory(word="RUNNING", since=mark(0), life=Life(mark(0), PRICE, 2, 3), run=RUN, owner=OWNED)
BOOTED, HEALTHY = Fact(3, "s3", "booted"), Fact(3, "s3", "healthy")


def after(
    memory: Memory, seen: Seen, at_s: float, policy: Policy = POLICY
) -> tuple[Memory, list[Event]]:
    """Memory and events after that look."""
    state, news = observe(memory, seen, policy, now(at_s))
    return state, list(news)


def counts_of(memory: Memory, seen: Seen, at_s: float) -> Counts:
    """The counts after that look."""
    return after(memory, seen, at_s)[0].counts


# What a stop counts for


@pytest.mark.parametrize(
    ("up_s", "cause", "expected"),
    [
        (599, "preempted", 4),
        (600, "preempted", 4),
        (600.1, "preempted", 0),
        (30, "platform", 4),
        (30, "unknown", 4),
        (30, "restarter", 3),
        (30, "guest", 3),
        (30, "user", 3),
        (9000, "user", 0),
    ],
)
def test_short_runs_in_a_row(up_s: float, cause: str, expected: int) -> None:
    """Within ten minutes of RUNNING, and nobody's wish; a long run ends the row, a wished stop does not."""
    stop = Stop(cause, "x", up_s)
    assert counted(Counts(short_runs=3), stop, short=up_s <= 600).short_runs == expected


@pytest.mark.parametrize(
    ("booted", "healthy", "cause", "expected"),
    [
        (True, False, "preempted", (2, 6, 0)),
        (True, False, "unknown", (2, 6, 0)),
        (True, True, "preempted", (0, 6, 0)),
        (True, False, "user", (1, 5, 0)),
        (True, True, "user", (0, 5, 0)),
        (False, False, "preempted", (1, 5, 2)),
        (None, None, "preempted", (1, 5, 1)),
    ],
)
def test_rules_that_need_a_fact_judge_only_boots_that_said_booted(
    booted: bool | None, healthy: bool | None, cause: str, expected: tuple[int, int, int]
) -> None:
    """(in a row before healthy, of this run, boots in a row without any fact)."""
    before = Counts(unhealthy=1, interrupted=5, faceless=1)
    found = counted(before, Stop(cause, "x", 9000, booted, healthy), short=False)
    assert (found.unhealthy, found.interrupted, found.faceless) == expected


def test_a_short_run_without_a_fact_had_no_time_to_boot() -> None:
    """It is the loop guard's (complaint 19)."""
    stop = Stop("preempted", "x", 30, booted=False, healthy=False)
    assert counted(Counts(faceless=1), stop, short=True).faceless == 1


@pytest.mark.parametrize(
    ("facts", "booted", "healthy"),
    [
        ((BOOTED,), True, False),
        ((BOOTED, HEALTHY), True, True),
        ((), False, False),
        ((HEALTHY,), None, None),
        ((Fact(2, "s2", "booted"), Fact(2, "s2", "healthy")), False, False),
        ((BOOTED, Fact(4, "s4", "healthy")), True, True),
    ],
)
def test_the_facts_of_a_life_are_those_of_its_boots(
    facts: tuple[Fact, ...], booted: bool | None, healthy: bool | None
) -> None:
    """All boots after the one before it, a reboot of the guest included; none of another life."""
    state, _ = after(RUNS, look(store=sight(facts=facts)), 60)
    assert state.stop is not None
    assert (state.stop.booted, state.stop.healthy) == (booted, healthy)


def test_without_the_store_nothing_is_known_of_the_guest() -> None:
    """Nor on a host that has none."""
    for seen, policy in ((look(store=AWAY), POLICY), (look(), replace(POLICY, local=True))):
        state, _ = after(replace(RUNS, life=Life(mark(0), PRICE, 2)), seen, 9000, policy)
        assert state.stop is not None
        assert (state.stop.booted, state.counts.faceless, state.counts.boot_seq) == (None, 0, 0)


def test_a_boot_that_was_known_is_never_that_of_the_next_life() -> None:
    """Also where the store was away when its life ended: the next guest may be one that says nothing."""
    silent = replace(RUNS, life=Life(mark(0), PRICE, 2), counts=Counts(boot_seq=2))
    assert counts_of(silent, look(store=AWAY), 60).boot_seq == 2
    state, _ = after(RUNS, look(store=AWAY), 60)
    assert state.counts.boot_seq == 3
    state, _ = after(state, look(State.RUNNING, store=AWAY), 120)
    state, _ = after(state, look(State.RUNNING, store=sight(facts=(BOOTED,))), 180)
    assert state.life == Life(mark(120), None, 3, None)


def test_a_life_knows_its_boot_and_the_one_before() -> None:
    """The newest boot while it was off is the one before; the first fact after that is its own."""
    state, _ = after(stopped(), look(store=sight(facts=(BOOTED,))), 0)
    assert state.counts.boot_seq == 3
    state, _ = after(state, look(State.RUNNING, store=sight(facts=(BOOTED,))), 60)
    assert state.life == Life(mark(60), None, 3, None)
    facts = (BOOTED, Fact(4, "s4", "booted"))
    state, _ = after(state, look(State.RUNNING, store=sight(facts=facts)), 120)
    assert state.life is not None
    assert state.life.boot == 4


def test_a_boot_while_a_start_is_open_may_be_that_starts_own() -> None:
    """It is not yet one of before."""
    seen = look(store=sight(facts=(BOOTED,)))
    for ask in (Ask(mark(0), boot_seq=3), Ask(mark(0), recovered=True)):
        assert counts_of(stopped(ask=ask), seen, 60).boot_seq == 0
    assert counts_of(stopped(), seen, 60).boot_seq == 3
    starts = look(State.STARTING, store=sight(facts=(BOOTED,)))
    assert counts_of(stopped(word="STARTING"), starts, 60).boot_seq == 0


def test_the_first_boot_of_all_is_that_of_the_first_life() -> None:
    """Boots are counted from one; before it there was none."""
    memory = replace(RUNS, life=Life(mark(0), PRICE, 0))
    for facts, boot in (((), None), ((Fact(1, "s1", "booted"),), 1)):
        state, _ = after(memory, look(State.RUNNING, store=sight(facts=facts)), 60)
        assert state.life == Life(mark(0), PRICE, 0, boot)


def test_a_first_look_at_a_running_instance_takes_any_boot_for_its_own() -> None:
    """A restarter that is installed beside a machine that works calls nobody; one without a fact may yet boot."""
    state, _ = after(Memory(), look(State.RUNNING, store=sight(facts=(BOOTED,))), 0)
    assert state.life == Life(mark(0), None, -1, 3)
    newer = sight(facts=(BOOTED, Fact(4, "s4", "booted")))
    state, news = after(state, look(State.RUNNING, store=newer), 60)
    assert (state.life, news) == (Life(mark(0), None, -1, 4), [])
    state, _ = after(Memory(), look(State.RUNNING), 0)
    assert state.life == Life(mark(0), None, -1, None)


# Causes


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ((BOOTED, Fact(3, "s3", "notice")), ("preempted", "guest-marker")),
        ((Fact(2, "s2", "notice"),), ("unknown", "none")),
        ((Fact(2, "s2", "notice"), BOOTED), ("unknown", "none")),
    ],
)
def test_a_notice_counts_for_its_own_boot(
    facts: tuple[Fact, ...], expected: tuple[str, str]
) -> None:
    """Not for a later life whose guest said nothing."""
    state, _ = after(RUNS, look(store=sight(facts=facts)), 60)
    assert state.stop is not None
    assert (state.stop.cause, state.stop.evidence) == expected


def test_a_guests_hold_of_before_says_nothing_of_this_stop() -> None:
    """It stood already when this life began."""
    old = KnownHold(hold("end-1"), mark(-60))
    state, _ = after(
        replace(RUNS, holds=(old,)), look(cause="preempted", store=sight(hold("end-1"))), 60
    )
    assert state.stop is not None
    assert state.stop.cause == "preempted"


@pytest.mark.parametrize(
    ("started_s", "stop", "expected"),
    [
        (0.0, Stop("restarter", "own-stop", 9.0, last_start=NOON), "restarter"),
        (0.001, Stop("restarter", "own-stop", 9.0, last_start=NOON), "user"),
        (0.0, Stop("preempted", "none", 9.0, last_start=NOON), "user"),
        (0.0, Stop("restarter", "own-stop", 9.0), "user"),
        (None, Stop("restarter", "own-stop", 9.0, last_start=NOON), "user"),
        (0.0, None, "user"),
    ],
)
def test_a_stop_of_ours_that_is_seen_twice(
    started_s: float | None, stop: Stop | None, expected: str
) -> None:
    """An old page showed it running between two looks: as long as nothing started it, it is our own stop."""
    started = NOON + timedelta(seconds=started_s) if started_s is not None else None
    seen = replace(look(), provider=Observation(State.STOPPED, last_start=started, cause="user"))
    state, _ = after(replace(RUNS, stop=stop, last_start=None), seen, 60)
    assert state.stop is not None
    assert state.stop.cause == expected


def test_a_stop_by_a_person_is_the_persons_event() -> None:
    """Its source says so, and a report can leave it out of lifetimes (complaint 23)."""
    _, news = after(RUNS, look(cause="user", last_start=NOON), 60)
    assert (news[0].kind, news[0].source, news[0].reason) == ("stopped", "operator", "user")
    assert news[0].detail["last_start"] == "2026-12-01T12:00:00.000Z"


# Missed between two looks

LAST = replace(RUNS, last_start=NOON)
LATER = NOON + timedelta(minutes=5)


@pytest.mark.parametrize(
    ("memory", "seen", "expected"),
    [
        (LAST, look(State.RUNNING, last_start=LATER), ("unknown", "newer-start")),
        (LAST, look(State.STARTING), ("unknown", "starting-again")),
        (
            LAST,
            look(
                State.RUNNING,
                last_start=LATER,
                store=sight(facts=(BOOTED, Fact(3, "s3", "notice"))),
            ),
            ("preempted", "guest-marker"),
        ),
        (
            RUNS,
            look(State.RUNNING, store=sight(facts=(BOOTED, Fact(4, "s4", "booted")))),
            ("unknown", "newer-boot"),
        ),
        (
            replace(LAST, stop_asks=StopAsks(mark(1), 1)),
            look(State.STARTING),
            ("restarter", "own-stop"),
        ),
    ],
)
def test_a_stop_that_nobody_saw(memory: Memory, seen: Seen, expected: tuple[str, str]) -> None:
    """By a newer start, by starting again, or, where the provider tells no starts, by a newer boot."""
    _, news = after(memory, seen, 600)
    assert news[0].kind == "stopped"
    assert (news[0].reason, news[0].evidence) == expected


@pytest.mark.parametrize(
    ("memory", "seen"),
    [
        (LAST, look(State.RUNNING, last_start=NOON)),
        (
            LAST,
            look(
                State.RUNNING, last_start=NOON, store=sight(facts=(BOOTED, Fact(4, "s4", "booted")))
            ),
        ),
        (RUNS, look(State.RUNNING, store=sight(facts=(BOOTED,)))),
        (LAST, look(State.STOPPING)),
        (
            replace(RUNS, life=Life(mark(0), PRICE, 2)),
            look(State.RUNNING, store=sight(facts=(BOOTED,))),
        ),
    ],
)
def test_a_reboot_of_the_guest_is_no_stop(memory: Memory, seen: Seen) -> None:
    """The same start: its guest may boot as often as it likes."""
    assert [event.kind for event in after(memory, seen, 600)[1]] == []


def test_a_missed_stop_of_a_life_that_put_no_fact() -> None:
    """Its guest said nothing; the boot before it said nothing of it."""
    memory = replace(LAST, life=Life(mark(0), PRICE, 2))
    seen = look(State.STARTING, store=sight(facts=(Fact(2, "s2", "booted"),)))
    state, news = after(memory, seen, 9000)
    assert (news[0].kind, news[0].evidence) == ("stopped", "starting-again")
    assert state.stop is not None
    assert (state.stop.booted, state.counts.boot_seq, state.counts.faceless) == (False, 2, 1)


def test_a_stop_whose_end_was_missed() -> None:
    """Last seen STOPPING, and somebody has started it again: the life has ended all the same, and is counted."""
    memory = replace(LAST, word="STOPPING")
    state, news = after(memory, look(State.STARTING), 600)
    assert [event.kind for event in news] == ["stopped"]
    assert (state.life, state.word, state.spent > 0) == (None, "STARTING", True)
    assert after(memory, look(State.STOPPING), 600)[1] == []


def test_without_a_life_no_stop_was_missed() -> None:
    """Whatever the last word was."""
    for word in ("RUNNING", "STOPPED", None):
        assert after(replace(LAST, word=word, life=None), look(State.STARTING), 60)[1] == []


def test_a_life_of_others_between_two_looks_is_told() -> None:
    """Somebody started it by hand, and it is off again."""
    memory = stopped(last_start=NOON)
    state, news = after(memory, look(last_start=LATER), 60)
    assert [event.kind for event in news] == ["running", "stopped"]
    assert (state.last_start, state.counts.short_runs) == (LATER, 1)


def test_the_facts_of_a_missed_life_are_not_those_of_the_next() -> None:
    """The new life begins after the boots of the old one."""
    facts = (BOOTED, HEALTHY, Fact(4, "s4", "booted"))
    state, _ = after(LAST, look(State.RUNNING, last_start=LATER, store=sight(facts=facts)), 600)
    assert state.life is not None
    assert (state.life.boot_seq, state.life.boot) == (3, 4)
    assert state.stop is not None
    assert state.stop.healthy is True


@pytest.mark.parametrize(
    ("known", "said", "expected"),
    [
        (None, None, None),
        (None, NOON, NOON),
        (NOON, None, NOON),
        (NOON, LATER, LATER),
        (LATER, NOON, LATER),
        (NOON, NOON, NOON),
    ],
)
def test_the_last_start_is_the_latest_that_was_ever_named(
    known: datetime | None, said: datetime | None, expected: datetime | None
) -> None:
    """No answer unmakes a start; the stop that ends a life is named after it too."""
    assert latest(known, said) == expected
    state, _ = after(replace(RUNS, last_start=known), look(last_start=said), 60)
    assert state.stop is not None
    assert (state.last_start, state.stop.last_start) == (expected, expected)


# On purpose


def off(memory: Memory, cause: str | None, last_start: object = NOON) -> Memory:
    """Seen STOPPED with this reason."""
    obs = Observation(State.STOPPED, billed=False, last_start=last_start, cause=cause)  # type: ignore[arg-type]
    return after(memory, replace(look(), provider=obs), 60)[0]


def test_a_stop_that_a_new_restarter_finds_is_judged_by_the_providers_reason() -> None:
    """It has no memory; a person switched it off."""
    state = off(Memory(run=RUN), "user")
    assert state.stop == Stop("user", "provider-reason", 0.0, last_start=NOON)


def test_a_reason_that_is_known_already_is_no_new_stop() -> None:
    """The provider goes on giving the last one: after our own stop, after a start that came to nothing."""
    own = Stop("restarter", "own-stop", 60, last_start=NOON)
    for word in (None, "STARTING"):
        assert off(stopped(word=word, stop=own), "user").stop == own
    assert off(stopped(word="STARTING", stop=own), "user", LATER).stop != own
    assert off(stopped(word="STARTING", stop=own), "user", None).stop == own


@pytest.mark.parametrize("cause", [None, "preempted", "platform"])
def test_other_reasons_make_no_stop_on_purpose(cause: str | None) -> None:
    """The weather is not a person."""
    assert off(Memory(run=RUN), cause).stop is None


def test_a_cancelled_start_is_our_own_stop() -> None:
    """Though the provider says that a person did it."""
    memory = stopped(word="STARTING", stop_asks=StopAsks(mark(0), 1), last_start=LATER)
    state = off(memory, "user")
    assert state.stop == Stop("restarter", "own-stop", 0.0, last_start=LATER)
    assert off(state, "user").stop_asks is None


def test_a_hold_that_stands_while_it_is_off_speaks_for_the_stop() -> None:
    """Lifting it is enough to start (usage: `stop`, then `hold release`)."""
    state, _ = after(stopped(stop=Stop("user", "x", 9)), look(store=sight(hold())), 60)
    assert state.stop is not None
    assert state.stop.held
    state, _ = after(RUNS, look(cause="user", store=sight(hold())), 60)
    assert state.stop is not None
    assert state.stop.held


# Undone


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (stopped(stop=Stop("restarter", "own-stop", 9)), 1),
        (stopped(stop=Stop("preempted", "x", 9)), 0),
        (stopped(stop=Stop("restarter", "own-stop", 9), ask=Ask(mark(0))), 0),
        (stopped(stop=Stop("restarter", "own-stop", 9), failures=1), 0),
    ],
)
def test_a_start_of_others_after_our_stop_undoes_it(memory: Memory, expected: int) -> None:
    """Not a start of our own, not one of ours that came late, not after somebody else's stop."""
    held = sight(hold("end-1", ensure_stopped=True))
    assert counts_of(memory, look(State.RUNNING, store=held), 60).undone == expected
    assert counts_of(memory, look(State.RUNNING, store=sight(hold())), 60).undone == 0


@pytest.mark.parametrize("undone", [1, 3])
def test_a_lifted_hold_forgets_what_was_undone(undone: int) -> None:
    """The next hold begins at none."""
    memory = stopped(
        counts=Counts(undone=undone), holds=(KnownHold(hold("e", ensure_stopped=True), mark(0)),)
    )
    assert counts_of(memory, look(), 60).undone == undone
    assert counts_of(memory, look(store=sight(released=("e",))), 60).undone == 0


# Refusals

REFUSED = Ask(mark(0), "error:403", "auth", last_start=NOON)


def test_a_definite_refusal_closes_the_window_at_the_second_look() -> None:
    """Early, as its own kind; failures and backoff do not move."""
    state, news = after(stopped(-60, ask=REFUSED), look(), 10)
    assert (state.ask, news) == (replace(REFUSED, still=1), [])
    state, news = after(state, look(), 20)
    assert [event.kind for event in news] == ["start-refused", NEEDS_YOU]
    assert (state.ask, state.failures, state.failed_at) == (None, 0, None)
    assert (state.refusal, state.failing_since) == (Refusal(mark(20), "auth"), mark(0))


@pytest.mark.parametrize("seen", [look(State.STARTING), look(None)])
def test_a_refusal_is_believed_only_while_it_stays_off(seen: Seen) -> None:
    """STARTING begins the count anew; a look without an answer says nothing."""
    memory = stopped(-60, ask=replace(REFUSED, still=1))
    state, _ = after(memory, seen, 10)
    assert state.ask is not None
    assert state.ask.still == (0 if seen.understood is not None else 1)


@pytest.mark.parametrize(("kind", "early"), [
    ("auth", True), ("quota", True), ("gone", True), ("conflict", True), ("price", True),
    ("rate", True), ("capacity", False), ("unknown", False), ("accepted", False),
])  # fmt: skip
def test_only_what_says_nothing_of_capacity_closes_early(kind: str, early: bool) -> None:
    """Capacity and unknown leave the window open: the start may go on."""
    reply = Reply(ok=kind == "accepted", kind=kind)  # type: ignore[arg-type]
    state, _ = answered("start", stopped(-60, ask=Ask(mark(0))), reply, POLICY, now(1))
    for second in (10, 20):
        state, _ = after(state, look(), second)
    assert (state.ask is None) == early


@pytest.mark.parametrize(
    ("kind", "told"),
    [("auth", 1), ("quota", 1), ("gone", 1), ("price", 1), ("rate", 0), ("conflict", 0)],
)
def test_a_person_is_told_of_what_only_a_person_can_mend(kind: str, told: int) -> None:
    """Once for all refusals in a row, and once when a start is reached."""
    state, reports = stopped(-60), 0
    for second in (0, 200, 400):
        state = replace(state, ask=Ask(mark(second), "x", kind, still=1))
        state, news = after(state, look(), second + 10)
        reports += [event.kind for event in news].count(NEEDS_YOU)
    assert reports == told
    state, news = after(state, look(State.RUNNING), 500)
    assert [event.kind for event in news].count("cleared") == told
    assert (state.refusal, state.failing_since) == (None, None)


def test_refusals_for_too_many_requests_are_counted_until_another_answer() -> None:
    """The count widens the interval (complaint 17)."""
    state = stopped(-60, ask=Ask(mark(0)))
    for expected in (1, 2):
        state, _ = answered("start", state, Reply(ok=False, kind="rate"), POLICY, now(1))
        assert state.counts.rated == expected
    assert (
        answered("start", state, Reply(ok=True, kind="accepted"), POLICY, now(1))[0].counts.rated
        == 0
    )
    assert counts_of(state, look(State.RUNNING), 60).rated == 0


def test_the_clock_of_failed_starts_leaves_out_what_was_no_try() -> None:
    """An hour above the price cap between two tries moves its beginning by that hour."""
    memory = stopped(-60, failures=1, failing_since=mark(0), failed_at=mark(900), counts=Counts())
    decision = decide(memory, look(at_s=4612.5, price=PRICE), POLICY, now(4612.5))
    assert decision.word == "start"
    state, _ = intend(decision, memory, look(at_s=4612.5, price=PRICE), POLICY, now(4612.5))
    assert state.failing_since == mark(3600)
    assert state.ask is not None


# Owner


def test_ownership_is_counted_in_looks() -> None:
    """One event when it begins; three looks are enough to know."""
    state, news = after(stopped(owner=None), look(), 0)
    assert state.owner is not None
    assert (state.owner.identity, state.owner.polls, [event.kind for event in news]) == (
        ME,
        1,
        ["owner"],
    )
    for expected in (2, 3, 3):
        state, news = after(state, look(), 10)
        assert state.owner is not None
        assert (state.owner.polls, news) == (expected, [])
    assert state.ask is None


def test_what_is_taken_over_from_another_waits_a_whole_window() -> None:
    """The other may have asked for a start just before (I2)."""
    owners = (f"000001-{OTHER}", f"000002-{ME}")
    state, _ = after(stopped(owner=None), look(store=sight(owners=owners)), 5)
    assert state.ask == Ask(mark(5), recovered=True)
    again, _ = after(state, look(store=sight(owners=owners)), 15)
    assert again.ask == Ask(mark(5), recovered=True)


def test_the_greatest_key_owns_it() -> None:
    """Whoever adopted last; the one that lost it counts from the beginning when it comes back."""
    taken = (f"000001-{ME}", f"000002-{OTHER}")
    state, _ = after(stopped(), look(store=sight(owners=taken)), 0)
    assert state.owner is not None
    assert (state.owner.identity, state.ask) == (OTHER, None)
    state, _ = after(state, look(store=sight(owners=(*taken, f"000003-{ME}"))), 10)
    assert state.owner is not None
    assert (state.owner.identity, state.owner.polls) == (ME, 1)
    assert state.ask is not None
    nobody, _ = after(stopped(), look(store=sight(owners=())), 0)
    assert nobody.owner is None
    away, _ = after(stopped(), look(store=AWAY), 0)
    assert away.owner == OWNED


def test_another_run_begins_at_zero() -> None:
    """Its spend, its starts, its interruptions; the totals go on, and so does the row of short runs."""
    counts = Counts(short_runs=3, unhealthy=1, interrupted=2, finished=400, faceless=1)
    memory = stopped(spent=219.0, starts=7, counts=counts)
    found = counts_of(memory, look(store=sight(run=Assignment("next", 1))), 60)
    assert found == Counts(short_runs=3, faceless=1, starts_from=7, spent_from=219.0)
    same = counts_of(memory, look(store=sight(run=replace(RUN, generation=3))), 60)
    assert same == counts
