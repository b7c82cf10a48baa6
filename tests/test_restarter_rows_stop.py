"""Rows 10, 11, 12 and 14: what keeps a stopped instance off until a person or the provider says otherwise."""

from dataclasses import replace
from datetime import timedelta

import pytest

from restarter_story import GRANT, NOON, POLICY, PRICE, RUN, look, mark, now, sight, stopped
from spoteval.config.grant import Grant
from spoteval.decision import Decision
from spoteval.provider.contract import State
from spoteval.publication.listing import Fact
from spoteval.run import StopRules
from spoteval.settings.money import Money
from spoteval.shape import Unreadable
from spoteval_agents.restarter.decide import decide
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import Ask, Counts, Refusal, Stop
from spoteval_agents.restarter.state import State as Memory

BY_USER = Stop("user", "provider-reason", 9000, last_start=NOON)
DISKS = replace(POLICY, stopped_price=Money(0.21, "USD", "hour"))
HELD = "nothing is running, disks cost 0.21 USD/h"


def said(
    memory: Memory, seen: Seen | None = None, at_s: float = 0, policy: Policy = DISKS
) -> Decision:
    """The decision at that second, about an instance that has been off for a minute."""
    return decide(memory, seen if seen is not None else look(price=PRICE), policy, now(at_s))


# Row 10


def test_row_10_stopped_on_purpose() -> None:
    """The hold is named after the start that the stop ended."""
    memory = stopped(-60, stop=BY_USER, last_start=NOON)
    assert said(memory).line() == (
        "decision=stopped-on-purpose instance=gpu-1 state=STOPPED stopped_s=60 cause=user"
        " evidence=provider-reason hold=stop-20261201T120000 action=hold alert=needs_you"
        ' holds=none why="it was stopped by a person, and nobody said for how long; held,'
        f' {HELD}"'
    )


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        ("user", "stopped-on-purpose"),
        ("guest", "stopped-on-purpose"),
        ("preempted", "start"),
        ("platform", "start"),
        ("restarter", "start"),
        ("unknown", "start"),
    ],
)
def test_row_10_only_a_person_or_the_guest_stops_on_purpose(cause: str, expected: str) -> None:
    """Not the weather, not we ourselves, not what nobody knows."""
    assert said(stopped(-60, stop=Stop(cause, "x", 9))).word == expected


@pytest.mark.parametrize(
    ("memory", "seen"),
    [
        (stopped(-60, stop=replace(BY_USER, held=True), last_start=NOON), look(price=PRICE)),
        (
            stopped(-60, stop=BY_USER, last_start=NOON),
            look(price=PRICE, store=sight(released=("stop-20261201T120000",))),
        ),
        (
            stopped(-60, stop=BY_USER, last_start=NOON),
            look(price=PRICE, store=sight(facts=(Fact(3, "s3", "drill-stop"),))),
        ),
        (stopped(-60), look(price=PRICE)),
    ],
)
def test_row_10_not_where_a_hold_a_release_or_a_drill_speaks_for_it(
    memory: Memory, seen: Seen
) -> None:
    """A hold that stood, this stop released before, a drill that announced it, no stop at all: it starts."""
    assert said(memory, seen).word == "start"


def test_row_10_an_older_drill_announces_nothing() -> None:
    """Only the newest boot's does."""
    facts = (Fact(3, "s3", "drill-stop"), Fact(4, "s4", "booted"))
    memory = stopped(-60, stop=BY_USER, last_start=NOON)
    assert said(memory, look(store=sight(facts=facts))).word == "stopped-on-purpose"


def test_row_10_without_a_last_start_the_stop_is_named_after_its_moment() -> None:
    """One stop, one name."""
    found = said(stopped(-60, stop=replace(BY_USER, cause="guest", last_start=None)), at_s=600)
    assert found.pairs["hold"] == "stop-20261201T115900"
    assert str(found.why).startswith("it was stopped by its guest")


# Row 11


def test_row_11_provider_restarts() -> None:
    """Nothing is asked for: the provider starts it when it has room."""
    assert said(stopped(-60), look(auto_restart=True)).line() == (
        "decision=provider-restarts instance=gpu-1 state=STOPPED stopped_s=60 holds=none"
        ' why="only the provider may restart it, and does when it has room: a wait for capacity"'
    )


# Row 12


@pytest.mark.parametrize(("polls", "action"), [(1, None), (2, "hold"), (3, "hold")])
def test_row_12_is_believed_at_the_second_look(polls: int, action: str | None) -> None:
    """Before that nothing is started either."""
    memory = replace(stopped(-60, counts=Counts(unrestartable=polls)), word="UNRESTARTABLE")
    found = said(memory, look(State.UNRESTARTABLE))
    assert (found.word, found.pairs.get("action")) == ("unrestartable", action)


def test_row_12_unrestartable() -> None:
    """Held, with what is still billed."""
    memory = replace(stopped(-60, counts=Counts(unrestartable=2)), word="UNRESTARTABLE")
    assert said(memory, look(State.UNRESTARTABLE)).line() == (
        "decision=unrestartable instance=gpu-1 state=UNRESTARTABLE stopped_s=60 polls=2"
        " action=hold alert=needs_you holds=none"
        f' why="the provider says that it cannot be started again; held, {HELD}"'
    )
    first = replace(memory, counts=Counts(unrestartable=1))
    assert said(first, look(State.UNRESTARTABLE)).why == (
        "the provider says that it cannot be started again; looking once more"
    )


# Row 14


def limits(**changes: object) -> Policy:
    """With these limits in the grant."""
    return replace(DISKS, grant=replace(GRANT, **changes))  # type: ignore[arg-type]


FAILING = stopped(-60, failing_since=mark(0), failures=4, failed_at=mark(2600))


@pytest.mark.parametrize(
    ("at_s", "expected"), [(2699, "backoff"), (2700, "stop-rule"), (2701, "stop-rule")]
)
def test_row_14_failed_starts(at_s: float, expected: str) -> None:
    """45 min of them, at the second."""
    assert said(FAILING, look(at_s=at_s, price=PRICE), at_s).word == expected


def test_row_14_stop_rule() -> None:
    """The line that a person is shown: rule, limit, figure, what is done, what it costs."""
    assert said(FAILING, at_s=2710).line() == (
        "decision=stop-rule instance=gpu-1 state=STOPPED rule=failed_starts limit_s=2700"
        " seen_s=2710 action=hold alert=needs_you holds=none"
        f' why="45 min of failed starts; held, {HELD}"'
    )
    assert said(FAILING, at_s=2710, policy=POLICY).why == (
        "45 min of failed starts; held, nothing is running"
    )


def test_row_14_is_never_judged_while_a_window_is_open() -> None:
    """The start that is under way may be the one that succeeds."""
    assert said(replace(FAILING, ask=Ask(mark(2690))), at_s=2710).word == "start-pending"


def test_row_14_the_clock_stands_while_something_else_keeps_it_from_trying() -> None:
    """A price above the cap, or a store that is away, for hours after one failed start is no failed start."""
    once = stopped(-60, failing_since=mark(0), failures=1, failed_at=mark(900))
    assert said(once, look(at_s=90_000, price=PRICE), 90_000).word == "start"


def test_row_14_failed_starts_off() -> None:
    """Then it tries for ever (complaint 16)."""
    policy = limits(failed_starts_s=None)
    memory = stopped(-60, failing_since=mark(0), failures=1000, failed_at=mark(10**6))
    assert said(memory, look(at_s=10**6 + 1200, price=PRICE), 10**6 + 1200, policy).word == "start"


@pytest.mark.parametrize(("seen", "expected"), [(1, "start"), (2, "stop-rule"), (3, "stop-rule")])
def test_row_14_preemptions_before_healthy(seen: int, expected: str) -> None:
    """Two in a row."""
    found = said(stopped(-60, counts=Counts(unhealthy=seen)))
    assert found.word == expected
    if expected == "stop-rule":
        assert found.pairs["rule"] == "preemptions_before_healthy"
        assert found.why == f"{seen} preemptions in a row before it was healthy; held, {HELD}"


@pytest.mark.parametrize(
    ("seen", "finished", "expected"),
    [
        (2, 0, "start"),
        (3, 19, "stop-rule"),
        (3, 20, "start"),
        (4, 0, "stop-rule"),
        (9, 21, "start"),
    ],
)
def test_row_14_preemptions_before_episodes(seen: int, finished: int, expected: str) -> None:
    """Three before twenty episodes; the twentieth lifts it for good."""
    found = said(stopped(-60, counts=Counts(interrupted=seen, finished=finished)))
    assert found.word == expected


def test_row_14_a_rule_that_is_off_never_trips() -> None:
    """However often it was taken."""
    often = stopped(-60, counts=Counts(unhealthy=99, interrupted=99))
    off = limits(preemptions_before_healthy=None, preemptions_before_episodes=None)
    assert said(often, policy=off).word == "start"


def test_row_14_preemptions_before_episodes_says_how_far_it_came() -> None:
    """All four figures."""
    assert said(stopped(-60, counts=Counts(interrupted=3, finished=7))).line() == (
        "decision=stop-rule instance=gpu-1 state=STOPPED rule=preemptions_before_episodes limit=3"
        " seen=3 episodes=20 finished=7 action=hold alert=needs_you holds=none"
        f' why="3 preemptions and 7 episodes of 20 finished; held, {HELD}"'
    )


@pytest.mark.parametrize(("seen", "expected"), [(1, "start"), (2, "stop-rule"), (3, "stop-rule")])
def test_row_14_boots_without_any_fact(seen: int, expected: str) -> None:
    """Two that reached RUNNING."""
    found = said(stopped(-60, counts=Counts(faceless=seen)))
    assert found.word == expected
    if expected == "stop-rule":
        assert (found.pairs["rule"], found.pairs["limit"]) == ("no_facts", 2)


@pytest.mark.parametrize(
    ("spent", "before", "expected"),
    [(599.99, 0, "start"), (600, 0, "stop-rule"), (600.01, 0, "stop-rule"), (700, 100.01, "start")],
)
def test_row_14_spend(spent: float, before: float, expected: str) -> None:
    """At the limit it is reached; what was spent before this run does not count."""
    memory = stopped(-60, spent=spent, counts=Counts(spent_from=before))
    found = said(memory, policy=limits(spend=Money(600, "USD")))
    assert found.word == expected
    if expected == "stop-rule":
        assert found.why == f"{spent:.2f} of 600.00 USD spent; held, {HELD}"


def test_row_14_spend_in_another_currency_cannot_be_held_against_prices() -> None:
    """No limit that cannot be judged is a limit."""
    found = said(stopped(-60, price=PRICE), policy=limits(spend=Money(600, "EUR")))
    assert (found.word, found.pairs["rule"]) == ("stop-rule", "currency")
    assert found.why == f"a spend limit in EUR, prices in USD; held, {HELD}"


@pytest.mark.parametrize(
    ("starts", "before", "expected"),
    [(59, 0, "start"), (60, 0, "stop-rule"), (61, 0, "stop-rule"), (61, 2, "start")],
)
def test_row_14_starts(starts: int, before: int, expected: str) -> None:
    """The sixtieth is the last one."""
    memory = stopped(-60, starts=starts, counts=Counts(starts_from=before))
    found = said(memory, policy=limits(starts=60))
    assert found.word == expected
    if expected == "stop-rule":
        assert found.why == f"{starts} starts of 60; held, {HELD}"


@pytest.mark.parametrize(
    ("left_s", "synced", "expected"),
    [(1, True, "start"), (0, True, "stop-rule"), (-1, True, "stop-rule"), (-1, False, "start")],
)
def test_row_14_until(left_s: float, synced: bool, expected: str) -> None:
    """At its second; on a clock that is not synchronised nothing has passed."""
    policy = limits(until=NOON + timedelta(seconds=left_s))
    found = decide(stopped(-60), look(price=PRICE), policy, now(0, synced=synced))
    assert found.word == expected
    if expected == "stop-rule":
        assert found.pairs["rule"] == "until"


@pytest.mark.parametrize(
    ("rule", "own", "expected"),
    [
        ("type", "h200", "start"),
        ("type", "h100", "stop-rule"),
        ("type", None, "stop-rule"),
        ("region", "eu-north1", "start"),
        ("region", "us-1", "stop-rule"),
        ("region", None, "stop-rule"),
    ],
)
def test_row_14_type_and_region_outside_the_grant(
    rule: str, own: str | None, expected: str
) -> None:
    """What is not known is not in a list."""
    grant = Grant(types=("h200", "b200")) if rule == "type" else Grant(regions=("eu-north1",))
    policy = replace(DISKS, grant=grant, **{rule: own})  # type: ignore[arg-type]
    found = said(stopped(-60), policy=policy)
    assert found.word == expected
    if expected == "stop-rule":
        assert (found.pairs["rule"], found.pairs["seen"]) == (rule, own or "none")
        assert found.why == f"{rule} {own or 'unknown'} is outside the grant; held, {HELD}"


def test_row_14_a_run_tightens_the_grant_and_never_loosens_it() -> None:
    """The tighter of the two, either way."""
    tight = StopRules(preemptions_before_healthy=1, failed_starts_s=600)
    loose = StopRules(preemptions_before_healthy=9, failed_starts_s=90_000)
    for rules, unhealthy, expected in ((tight, 1, "stop-rule"), (loose, 2, "stop-rule")):
        memory = stopped(-60, run=replace(RUN, rules=rules), counts=Counts(unhealthy=unhealthy))
        assert said(memory).word == expected
    memory = replace(FAILING, run=replace(RUN, rules=tight))
    assert said(memory, at_s=2650).pairs["limit_s"] == 600


def test_row_14_what_only_the_grant_can_reset_is_held_once() -> None:
    """After its hold was lifted, nothing is started and nothing is held again: the line names the file."""
    policy = limits(until=NOON)
    memory = stopped(-60, waived=("until",))
    assert said(memory, at_s=60, policy=policy).line() == (
        "decision=stop-rule instance=gpu-1 state=STOPPED rule=until limit=2026-12-01T12:00:00.000Z"
        ' seen_s=60 holds=none why="granted until 2026-12-01T12:00:00.000Z; nothing is started'
        ' until [grant] says otherwise"'
    )


def test_row_14_a_waived_rule_hides_no_other() -> None:
    """Both have tripped; the one that is new is told."""
    memory = stopped(-60, waived=("until",), counts=Counts(unhealthy=2))
    found = said(memory, policy=limits(until=NOON))
    assert (found.pairs["rule"], found.pairs["action"]) == ("preemptions_before_healthy", "hold")


# Order


@pytest.mark.parametrize(
    ("memory", "seen", "expected"),
    [
        (replace(FAILING, run=None), look(store=sight(run=None)), "no-run"),
        (replace(FAILING, stop=BY_USER), look(auto_restart=True), "stopped-on-purpose"),
        (FAILING, look(auto_restart=True), "provider-restarts"),
        (FAILING, look(State.UNRESTARTABLE), "unrestartable"),
        (FAILING, look(State.UNRESTARTABLE, store=Unreadable("away")), "hold-unknown"),
        (FAILING, look(), "stop-rule"),
    ],
)
def test_rows_9_to_14_in_their_order(memory: Memory, seen: Seen, expected: str) -> None:
    """The first that matches decides."""
    assert said(memory, seen, 9000).word == expected


def test_a_refused_start_is_on_the_clock_of_failed_starts() -> None:
    """It is tried again after a fixed wait, and the rule ends it."""
    memory = stopped(-60, failing_since=mark(0), refusal=Refusal(mark(2600), "auth"))
    line = said(memory, at_s=2660).line()
    assert line == (
        "decision=backoff instance=gpu-1 state=STOPPED capacity_failures=0 refused=auth"
        " failing_s=2660 rule_failed_starts_s=2700 wait_left_s=52.5 holds=none"
        ' why="the start was refused (auth); 40 s until hold-and-report"'
    )
    assert said(memory, at_s=2700).word == "stop-rule"
