"""Stretches that the restarter measures, and what a person is told: once when it begins, once when it is over."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from restarter_story import (
    GRANT,
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
from spoteval.config.grant import Grant
from spoteval.event import NEEDS_YOU, Event
from spoteval.provider.contract import Observation, State, Unanswered
from spoteval.publication.listing import Fact
from spoteval.run import StopRules
from spoteval.settings.money import Money
from spoteval.shape import Unreadable
from spoteval_agents.restarter.decide import decide
from spoteval_agents.restarter.observe import observe
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.seen import Guest, Seen
from spoteval_agents.restarter.state import (
    Absent,
    Ask,
    Assignment,
    Away,
    Counts,
    Keep,
    KnownHold,
    Life,
    Ownership,
    StopAsks,
    Unknown,
)
from spoteval_agents.restarter.state import State as Memory

AWAY = Unreadable("connection refused")
LATER = NOON + timedelta(seconds=60)
RUNS = Memory(
    word="RUNNING", since=mark(0), life=Life(mark(0), PRICE, 2), run=RUN, price=PRICE, owner=OWNED
)
BOOTED = (Fact(3, "s3", "booted"),)


def after(
    memory: Memory, seen: Seen, at_s: float, policy: Policy = POLICY
) -> tuple[Memory, list[Event]]:
    """Memory and events after that look."""
    state, news = observe(memory, seen, policy, now(at_s))
    return state, list(news)


def told(memory: Memory, seen: Seen, at_s: float, policy: Policy = POLICY) -> list[str]:
    """What a person hears at that look: topics, a minus before those that are over."""
    found = []
    for event in after(memory, seen, at_s, policy)[1]:
        if event.kind in (NEEDS_YOU, "cleared"):
            found.append(("" if event.kind == NEEDS_YOU else "-") + str(event.detail["topic"]))
    return found


# Absence


def test_absence_is_counted_in_looks_that_say_so() -> None:
    """A look without an answer neither counts nor ends it; one that sees the instance does."""
    state, _ = after(RUNS, look(State.GONE), 0)
    assert state.absent == Absent(mark(0), 1)
    state, _ = after(state, look(None), 60)
    assert state.absent == Absent(mark(0), 1)
    state, _ = after(state, look(State.GONE), 120)
    assert state.absent == Absent(mark(0), 2)
    assert state.life == RUNS.life
    state, _ = after(state, look(State.RUNNING), 180)
    assert (state.absent, state.unknown) == (None, None)


def test_what_cannot_be_restarted_is_counted_in_looks() -> None:
    """In a row; it also ends a life, as any stop."""
    state, news = after(RUNS, look(State.UNRESTARTABLE, billed=False), 60)
    assert (state.counts.unrestartable, state.life, news[0].kind) == (1, None, "stopped")
    state, _ = after(state, look(State.UNRESTARTABLE, billed=False), 120)
    assert state.counts.unrestartable == 2
    state, _ = after(state, look(), 180)
    assert state.counts.unrestartable == 0


# The end of the run


@pytest.mark.parametrize(
    ("run", "synced", "expected"),
    [
        (replace(RUN, over="ended-fact"), True, True),
        (replace(RUN, deadline=NOON + timedelta(seconds=60)), True, True),
        (replace(RUN, deadline=NOON + timedelta(seconds=61)), True, False),
        (replace(RUN, deadline=NOON), False, False),
        (RUN, True, False),
        (None, True, False),
    ],
)
def test_since_when_the_run_is_over(run: object, synced: bool, expected: bool) -> None:
    """By its fact, or by its deadline on a clock that may be believed."""
    seen = look(State.RUNNING, store=sight(run=run))  # type: ignore[arg-type]
    state, _ = observe(RUNS, seen, POLICY, now(60, synced=synced))
    assert state.over_since == (mark(60) if expected else None)
    again, _ = observe(state, seen, POLICY, now(600, synced=synced))
    assert (again.over_since is not None) == expected or run is not None


def test_a_clock_that_is_no_longer_believed_takes_no_end_back() -> None:
    """Unknown is not false: past its deadline the run stays over, and the time since then goes on."""
    run = replace(RUN, deadline=NOON)
    state, _ = after(RUNS, look(State.RUNNING, store=sight(run=run)), 60)
    unsure, _ = observe(
        state, look(State.RUNNING, store=sight(run=run)), POLICY, now(600, synced=False)
    )
    assert unsure.over_since == mark(60)
    found = decide(replace(unsure, word="STOPPED"), look(), POLICY, now(600, synced=False))
    assert (found.word, found.pairs["evidence"]) == ("run-over", "deadline")


@pytest.mark.parametrize(
    "next_run",
    [
        replace(RUN, deadline=NOON + timedelta(hours=9), generation=3),
        replace(RUN, run="other", deadline=NOON),
        None,
    ],
)
def test_a_moved_deadline_or_another_run_begins_anew(next_run: Assignment | None) -> None:
    """What was over was the earlier one; of the new one such a clock says nothing."""
    state, _ = after(RUNS, look(State.RUNNING, store=sight(run=replace(RUN, deadline=NOON))), 60)
    assert state.over_since is not None
    seen = look(State.RUNNING, store=sight(run=next_run))
    assert observe(state, seen, POLICY, now(600, synced=False))[0].over_since is None


def test_a_new_generation_with_the_same_deadline_is_the_same_end() -> None:
    """Another limit was changed; the run is over since the same moment."""
    run = replace(RUN, deadline=NOON)
    state, _ = after(RUNS, look(State.RUNNING, store=sight(run=run)), 60)
    seen = look(State.RUNNING, store=sight(run=replace(run, generation=3)))
    for synced in (True, False):
        assert observe(state, seen, POLICY, now(600, synced=synced))[0].over_since == mark(60)


def test_over_counts_from_the_first_look_that_knew() -> None:
    """Later looks do not move it; another run ends it."""
    over = replace(RUN, over="end.json")
    state, _ = after(RUNS, look(State.RUNNING, store=sight(run=over)), 60)
    state, _ = after(state, look(State.RUNNING, store=sight(run=over)), 600)
    assert state.over_since == mark(60)
    state, _ = after(state, look(State.RUNNING), 660)
    assert state.over_since is None


def test_a_keep_fact_is_fresh_when_it_is_new_here() -> None:
    """Its own hour does not matter, so that no two clocks are compared, and none that is set back hides one."""
    keeps = [Fact(3, "s3", f"keep-{hour}") for hour in ("2026120110", "2026120111")]
    state, _ = after(RUNS, look(State.RUNNING, store=sight(facts=(keeps[0],))), 60)
    assert state.keep == Keep("3/1", mark(60))
    state, _ = after(state, look(State.RUNNING, store=sight(facts=(keeps[0],))), 600)
    assert state.keep == Keep("3/1", mark(60))
    state, _ = after(state, look(State.RUNNING, store=sight(facts=tuple(keeps))), 3600)
    assert state.keep == Keep("3/2", mark(3600))
    for seen in (look(State.RUNNING), look(State.RUNNING, store=AWAY)):
        assert after(state, seen, 4000)[0].keep == state.keep
    back = (*keeps, Fact(3, "s3", "keep-1999123123"))
    state, _ = after(state, look(State.RUNNING, store=sight(facts=back)), 7200)
    assert state.keep == Keep("3/3", mark(7200))
    other = (*back, Fact(4, "s4", "keep-2026120112"))
    state, _ = after(state, look(State.RUNNING, store=sight(facts=other)), 9000)
    assert state.keep == Keep("4/1", mark(9000))


# Silence of the guest


@pytest.mark.parametrize(("at_s", "expected"), [(2699, []), (2700, ["silent"]), (2701, ["silent"])])
def test_a_guest_that_says_nothing_is_reported_after_45_min(
    at_s: float, expected: list[str]
) -> None:
    """Once; its first fact clears it, and so does its stop."""
    assert told(RUNS, look(State.RUNNING), at_s) == expected
    state, _ = after(RUNS, look(State.RUNNING), at_s)
    assert state.silent == (mark(at_s) if expected else None)
    later = at_s + 600
    if expected:
        assert told(state, look(State.RUNNING), later) == []
        assert told(state, look(State.RUNNING, store=sight(facts=BOOTED)), later) == ["-silent"]
        assert told(state, look(), later) == ["-silent"]


def test_silence_is_not_measured_without_a_store() -> None:
    """What cannot be read may say something; a host without a store hears nothing ever."""
    assert after(RUNS, look(State.RUNNING, store=AWAY), 9000)[0].silent is None
    local = replace(POLICY, local=True)
    assert after(RUNS, look(State.RUNNING), 9000, local)[0].silent is None
    begun, _ = after(RUNS, look(State.RUNNING), 2700)
    assert after(begun, look(State.RUNNING, store=AWAY), 2760)[0].silent == mark(2700)
    assert after(begun, look(None), 2760)[0].silent == mark(2700)


def test_a_boot_fact_of_before_is_no_sign() -> None:
    """It belongs to the life before."""
    old = sight(facts=(Fact(2, "s2", "booted"),))
    assert told(RUNS, look(State.RUNNING, store=old), 2700) == ["silent"]


# Silence of provider and store


@pytest.mark.parametrize(("at_s", "expected"), [(1799, []), (1800, ["store"]), (1801, ["store"])])
def test_a_store_outage_is_told_after_half_an_hour(at_s: float, expected: list[str]) -> None:
    """Also while the instance runs and nothing would be started."""
    memory = replace(RUNS, life=Life(mark(0), PRICE, 2, 3), away=Away(mark(0), "x"))
    assert told(memory, look(State.RUNNING, store=AWAY), at_s) == expected
    state, _ = after(memory, look(State.RUNNING, store=AWAY), at_s)
    assert told(state, look(State.RUNNING, store=AWAY), at_s + 9000) == (
        [] if expected else ["store"]
    )
    assert told(state, look(State.RUNNING), at_s + 60) == (["-store"] if expected else [])


def test_an_outage_is_measured_from_its_first_look() -> None:
    """With the newest reason; the first look that reads the store ends it."""
    state, _ = after(RUNS, look(State.RUNNING, store=AWAY), 60)
    assert state.away == Away(mark(60), "connection refused")
    state, _ = after(state, look(State.RUNNING, store=Unreadable("403")), 120)
    assert state.away == Away(mark(60), "403")
    assert after(state, look(State.RUNNING), 180)[0].away is None


def test_one_outage_is_told_once() -> None:
    """Where a start is kept back, it is told after three looks, and not once more after half an hour."""
    state, heard = stopped(-900), []
    for second in range(0, 3600, 60):
        heard += told(state, look(store=AWAY), second)
        state, _ = after(state, look(store=AWAY), second)
    assert heard == ["hold-unknown"]
    assert told(state, look(), 3600) == ["-hold-unknown"]


def test_a_provider_that_answers_again_is_told() -> None:
    """With what was over."""
    memory = replace(RUNS, unknown=Unknown(mark(0), "timeout:20s"), life=Life(mark(0), PRICE, 2, 3))
    state, (event,) = after(memory, look(None), 900)
    assert event.reason == (
        "the provider has said nothing that is understood for 15 min: timeout:20s"
    )
    assert event.detail == {"topic": "unknown", "command": "spoteval status"}
    state, (event,) = after(state, look(State.RUNNING), 960)
    assert (event.kind, event.reason, state.told) == ("cleared", "the provider answers again", ())


def test_what_only_the_provider_could_end_stays_told_while_it_is_silent() -> None:
    """A start that is stuck is not over because nobody can see it."""
    memory = stopped(word="STARTING", told=("start-stuck",))
    assert told(memory, look(None), 60) == []
    assert told(memory, look(State.RUNNING), 60) == ["-start-stuck"]


# The provider's word


@pytest.mark.parametrize(
    ("known", "said", "expected"),
    [(None, NOON, 0), (NOON, None, 0), (NOON, NOON, 0), (LATER, NOON, 60), (None, None, None)],
)
def test_the_last_start_is_kept_while_the_word_is_the_same(
    known: datetime | None, said: datetime | None, expected: float | None
) -> None:
    """It can be told later than the word, or be left out, or come from an old page; the word is no newer for it."""
    memory = replace(RUNS, last_start=known, life=Life(mark(0), PRICE, 2, 3))
    state, news = after(memory, look(State.RUNNING, last_start=said), 600)
    last = NOON + timedelta(seconds=expected) if expected is not None else None
    assert (state.word, state.since, state.last_start, news) == ("RUNNING", mark(0), last, [])


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Observation(State.GONE), "unknown"),
        (Unreadable("no route"), "unknown"),
        (Unanswered("denied", "auth"), "auth"),
    ],
)
def test_a_silence_has_a_kind(answer: Observation | Unreadable, kind: str) -> None:
    """That of its error; a word that no row understands has none."""
    seen = replace(look(), provider=answer)
    state, _ = after(RUNS, seen, 60)
    state, _ = after(state, seen, 120)
    assert state.unknown is not None
    assert (state.unknown.kind, state.unknown.repeats) == (kind, 2)


# Owners


@pytest.mark.parametrize(("identity", "this"), [(ME, True), (OTHER, False)])
def test_a_new_owner_goes_on_record(identity: str, this: bool) -> None:
    """By its whole name, and whether it is this host; once."""
    seen = look(store=sight(owners=(f"000001-{identity}",)))
    state, (event,) = after(stopped(owner=None), seen, 60)
    assert (event.kind, event.reason) == ("owner", identity[:8])
    assert event.detail == {"owner": identity, "this": this}
    assert (state.owner, state.ask) == (Ownership(identity, 1), None)
    state, news = after(state, seen, 120)
    assert (state.owner, news) == (Ownership(identity, 2), [])


# What costs


@pytest.mark.parametrize(("at_s", "expected"), [(59, []), (60, ["billed"]), (61, ["billed"])])
def test_stopped_and_billed_all_the_same_is_told_with_its_price(
    at_s: float, expected: list[str]
) -> None:
    """Once, after the grace, and once when it is over (complaint 25)."""
    memory = stopped(price=PRICE)
    assert told(memory, look(billed=True), at_s) == expected
    state, news = after(memory, look(billed=True), 120)
    assert news[0].reason == "STOPPED for 2 min and billed all the same, at 11.60 USD/h"
    assert told(state, look(billed=True), 9000) == []
    assert told(state, look(billed=False), 9060) == ["-billed"]


@pytest.mark.parametrize(("count", "expected"), [(1, []), (2, ["not-off"]), (3, ["not-off"])])
def test_a_stop_that_does_not_stop_is_told_at_the_second_request(
    count: int, expected: list[str]
) -> None:
    """With what it costs; cleared when it is off."""
    known = KnownHold(hold("e", ensure_stopped=True), mark(-900))
    life = Life(mark(0), PRICE, 2, 3)
    memory = replace(RUNS, life=life, holds=(known,), stop_asks=StopAsks(mark(0), count))
    assert told(memory, look(State.RUNNING), 60) == expected
    state, news = after(memory, look(State.RUNNING), 60)
    if expected:
        assert news[0].reason == f"still RUNNING after {count} stop requests, billed at 11.60 USD/h"
        assert told(state, look(), 120) == ["-not-off"]


@pytest.mark.parametrize(("count", "expected"), [(2, []), (3, ["stop-undone"])])
def test_undone_stops_are_told_at_the_third(count: int, expected: list[str]) -> None:
    """Once; over with the hold."""
    known = KnownHold(hold("e", ensure_stopped=True), mark(-900))
    life = Life(mark(0), PRICE, 2, 3)
    memory = replace(RUNS, life=life, holds=(known,), counts=Counts(undone=count))
    assert told(memory, look(State.RUNNING), 60) == expected
    state, _ = after(memory, look(State.RUNNING), 60)
    gone = look(State.RUNNING, store=sight(released=("e",)))
    assert told(state, gone, 120) == [f"-{topic}" for topic in expected]


@pytest.mark.parametrize(("at_s", "expected"), [(899, []), (900, ["start-stuck"])])
def test_a_start_that_is_stuck_is_told(at_s: float, expected: list[str]) -> None:
    """At its second, once."""
    memory = stopped(word="STARTING")
    assert told(memory, look(State.STARTING), at_s) == expected
    asked = replace(memory, ask=Ask(mark(500)))
    assert told(asked, look(State.STARTING), at_s) == []


@pytest.mark.parametrize(
    ("spent", "expected"), [(588.39, []), (588.4, ["limits"]), (600.0, ["limits"])]
)
def test_a_spend_limit_that_is_reached_while_it_runs_is_told(
    spent: float, expected: list[str]
) -> None:
    """The life that goes on counts, an hour of it at 11.60; it runs on, and is not started again."""
    policy = replace(POLICY, grant=replace(GRANT, spend=Money(600, "USD")))
    memory = replace(RUNS, spent=spent, life=Life(mark(0), PRICE, 2, 3))
    assert told(memory, look(State.RUNNING), 3600, policy) == expected
    state, news = after(memory, look(State.RUNNING), 3600, policy)
    if expected:
        assert str(news[0].reason).endswith(
            "of 600.00 USD spent while it runs; it is not started again"
        )
        assert news[0].detail["command"] == "spoteval stop gpu-1"
        assert told(state, look(cause="preempted"), 3660, policy) == ["-limits"]


def test_a_grant_that_ends_while_it_runs_is_told() -> None:
    """At its second."""
    policy = replace(POLICY, grant=replace(GRANT, until=NOON + timedelta(seconds=60)))
    memory = replace(RUNS, life=Life(mark(0), PRICE, 2, 3))
    assert told(memory, look(State.RUNNING), 59, policy) == []
    _, (event,) = after(memory, look(State.RUNNING), 60, policy)
    assert event.reason == (
        "granted until 2026-12-01T12:01:00.000Z while it runs; it is not started again"
    )


def test_both_limits_are_told_in_one_sentence_while_it_runs_alone() -> None:
    """What stands still is not told of them: its line says so."""
    grant = replace(GRANT, spend=Money(600, "USD"), until=NOON + timedelta(seconds=60))
    policy = replace(POLICY, grant=grant)
    memory = replace(RUNS, spent=600.0, life=Life(mark(0), None, 2, 3))
    _, (event,) = after(memory, look(State.RUNNING), 60, policy)
    assert event.reason == (
        "600.00 of 600.00 USD spent and granted until 2026-12-01T12:01:00.000Z while it runs; it is"
        " not started again"
    )
    assert told(stopped(spent=600.0), look(), 120, policy) == []


def test_a_run_that_asks_for_more_than_is_granted_is_told() -> None:
    """Each rule of it, once, and when it is over; also where the provider is silent."""
    policy = replace(POLICY, grant=replace(GRANT, spend=Money(500, "USD"), failed_starts_s=2700))
    memory = replace(RUNS, life=Life(mark(0), PRICE, 2, 3))
    loose = replace(RUN, rules=StopRules(spend=Money(600, "USD"), failed_starts_s=3600))
    state, (assigned, event) = after(memory, look(None, store=sight(run=loose)), 60, policy)
    assert (assigned.kind, event.kind) == ("run-assigned", NEEDS_YOU)
    assert event.reason == (
        'run swe-lite-q3: spend "600.00 USD": looser than "500.00 USD" in [grant]: a run may only'
        ' tighten it; failed_starts "60min": looser than "45min" in [grant]: a run may only tighten'
        " it; [grant] stands"
    )
    assert event.detail == {"topic": "looser", "command": "spoteval status"}
    assert told(state, look(None, store=sight(run=loose)), 120, policy) == []
    for run in (RUN, replace(RUN, rules=StopRules(spend=Money(500, "USD"))), None):
        state_, news = after(state, look(State.RUNNING, store=sight(run=run)), 180, policy)
        assert [item.reason for item in news if item.kind == "cleared"] == [
            "the run asks for no more than [grant]"
        ]
        assert "looser" not in state_.told


# Finished episodes


def test_finished_episodes_are_those_that_were_ever_heard_of() -> None:
    """By the guest's own figure, or by a fact of a boot of this run; never fewer than before."""
    facts = (
        Fact(1, "s1", "run-old-1"),
        Fact(1, "s1", "finished-100"),
        Fact(2, "s2", "run-swe-lite-q3-2"),
        Fact(3, "s3", "finished-20"),
        Fact(3, "s3", "finished-soon"),
    )
    state, _ = after(RUNS, look(State.RUNNING, store=sight(facts=facts)), 60)
    assert state.counts.finished == 20
    told_more = replace(look(State.RUNNING), guest=Guest(3.0, 57, 500, 4))
    state, _ = after(state, told_more, 120)
    assert state.counts.finished == 57
    state, _ = after(state, replace(told_more, guest=Guest(3.0, None, None, None)), 180)
    assert state.counts.finished == 57
    assert after(state, look(None, store=AWAY), 240)[0].counts.finished == 57


def test_finished_episodes_count_from_the_boot_in_which_the_run_was_assigned() -> None:
    """That one included; a boot before it speaks of the run before, also where it assigned none."""
    facts = (
        Fact(1, "s1", "run-old-1"),
        Fact(2, "s2", "finished-100"),
        Fact(3, "s3", "run-swe-lite-q3-2"),
        Fact(3, "s3", "finished-20"),
    )
    state, _ = after(RUNS, look(State.RUNNING, store=sight(facts=facts)), 60)
    assert state.counts.finished == 20


def test_a_boot_of_two_runs_announces_for_neither() -> None:
    """Else the episodes of the one would lift the rule of the other; its figure comes with the next sign of life."""
    run = "run-swe-lite-q3-1"
    facts = (Fact(1, "s1", "run-old-1"), Fact(1, "s1", "finished-100"), Fact(1, "s1", run))
    state, _ = after(RUNS, look(State.RUNNING, store=sight(facts=facts)), 60)
    assert state.counts.finished == 0
    alone = (*facts, Fact(2, "s2", run), Fact(2, "s2", "finished-20"))
    state, _ = after(RUNS, look(State.RUNNING, store=sight(facts=alone)), 60)
    assert state.counts.finished == 20


def test_a_life_that_others_began_is_priced_by_the_first_price_after() -> None:
    """What it costs counts; a life that has its price keeps it."""
    memory = replace(RUNS, life=Life(mark(0), None, 2, 3), price=None)
    state, news = after(memory, look(State.RUNNING, price=PRICE), 60)
    assert state.life == Life(mark(0), PRICE, 2, 3)
    assert [event.kind for event in news] == ["price-read"]
    dear = replace(PRICE, amount=13.0)
    again, _ = after(state, look(State.RUNNING, price=dear), 120)
    assert again.life == state.life


def test_a_waived_rule_is_judged_anew_once_the_grant_is_mended() -> None:
    """The next end of the grant is held and told again; a clock that cannot be believed mends nothing."""
    ended, mended = (replace(POLICY, grant=Grant(until=NOON + timedelta(hours=h))) for h in (1, 9))
    memory = stopped(-60, waived=("type", "until"))
    assert after(memory, look(), 3600, ended)[0].waived == ("until",)
    assert after(memory, look(), 3599.9, ended)[0].waived == ()
    state, _ = observe(memory, look(), ended, now(7200, synced=False))
    assert state.waived == ("until",)
    state, _ = after(memory, look(), 7200, mended)
    assert state.waived == ()
    found = decide(state, look(at_s=32400), mended, now(32400))
    assert (found.word, found.pairs["action"]) == ("stop-rule", "hold")
