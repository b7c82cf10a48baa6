"""A run may only tighten the grant: `tightened` and `looser`, at each boundary and for all values."""

import json
from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoteval.config.grant import Grant, looser, tightened
from spoteval.run import StopRules, rules_from
from spoteval.settings.money import Money
from spoteval.shape import Table

CAP = Money(14, "USD", "hour")
GRANT = Grant(
    price_cap=CAP,
    spend=Money(1500, "USD"),
    starts=60,
    regions=("eu",),
    types=("h200",),
    until=datetime(2026, 12, 31, tzinfo=UTC),
)


def test_a_run_without_rules_has_the_grants() -> None:
    """Nothing typed, nothing changed."""
    assert tightened(GRANT, StopRules()) == GRANT
    assert looser(GRANT, StopRules()) == ()


@pytest.mark.parametrize(
    ("rules", "changed"),
    [
        (StopRules(failed_starts_s=2699), {"failed_starts_s": 2699}),
        (StopRules(failed_starts_s=2700), {}),
        (StopRules(preemptions_before_healthy=1), {"preemptions_before_healthy": 1}),
        (StopRules(preemptions_before_episodes=(2, 20)), {"preemptions_before_episodes": (2, 20)}),
        (StopRules(preemptions_before_episodes=(3, 21)), {"preemptions_before_episodes": (3, 21)}),
        (StopRules(spend=Money(1499, "USD")), {"spend": Money(1499, "USD")}),
        (StopRules(spend=Money(1500, "USD")), {}),
        (
            StopRules(price_cap=Money(13.99, "USD", "hour")),
            {"price_cap": Money(13.99, "USD", "hour")},
        ),
    ],
)
def test_a_tighter_rule_is_in_force(rules: StopRules, changed: dict[str, object]) -> None:
    """Equal is not looser."""
    assert tightened(GRANT, rules) == replace(GRANT, **changed)  # type: ignore[arg-type]
    assert looser(GRANT, rules) == ()


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        (StopRules(failed_starts_s=2701), 'failed_starts "2701s": looser than "45min"'),
        (
            StopRules(preemptions_before_healthy=3),
            'preemptions_before_healthy "3": looser than "2"',
        ),
        (
            StopRules(preemptions_before_episodes=(4, 20)),
            (
                'preemptions_before_episodes "4 preemptions before 20 episodes": looser than'
                ' "3 preemptions before 20 episodes"'
            ),
        ),
        (
            StopRules(preemptions_before_episodes=(2, 19)),
            (
                'preemptions_before_episodes "2 preemptions before 19 episodes": looser than'
                ' "3 preemptions before 20 episodes"'
            ),
        ),
        (StopRules(spend=Money(1501, "USD")), 'spend "1501.00 USD": looser than "1500.00 USD"'),
        (StopRules(spend=Money(1, "EUR")), 'spend "1.00 EUR": looser than "1500.00 USD"'),
        (
            StopRules(price_cap=Money(15, "USD", "hour")),
            'price_cap "15.00 USD/hour": looser than "14.00 USD/hour"',
        ),
    ],
)
def test_a_looser_rule_is_named_and_has_no_effect(rules: StopRules, line: str) -> None:
    """One line each; what is tighter in the same rule counts all the same."""
    assert looser(GRANT, rules) == (f"{line} in [grant]: a run may only tighten it",)
    found = tightened(GRANT, rules)
    pair = rules.preemptions_before_episodes
    expected = (2, 20) if pair == (2, 19) else (3, 20)
    assert found == replace(GRANT, preemptions_before_episodes=expected)


def test_a_limit_that_the_grant_leaves_open_is_the_runs() -> None:
    """Off in the grant, typed in the run: it is in force, and it loosens nothing."""
    grant = Grant(
        failed_starts_s=None, preemptions_before_healthy=None, preemptions_before_episodes=None
    )
    rules = StopRules(60, 9, (9, 1), Money(5, "EUR"), CAP)
    found = tightened(grant, rules)
    assert [getattr(found, item.name) for item in fields(rules)] == [
        getattr(rules, item.name) for item in fields(rules)
    ]
    assert looser(grant, rules) == ()


def money(per: str | None) -> st.SearchStrategy[Money]:
    """Amounts in two currencies."""
    return st.builds(Money, st.floats(0, 1e6), st.sampled_from(["USD", "EUR"]), st.just(per))


RULES = st.builds(
    StopRules,
    st.none() | st.floats(1, 1e5),
    st.none() | st.integers(1, 9),
    st.none() | st.tuples(st.integers(1, 9), st.integers(1, 99)),
    st.none() | money(None),
    st.none() | money("hour"),
)
GRANTS = RULES.map(
    lambda rules: Grant(
        price_cap=rules.price_cap,
        spend=rules.spend,
        failed_starts_s=rules.failed_starts_s,
        preemptions_before_healthy=rules.preemptions_before_healthy,
        preemptions_before_episodes=rules.preemptions_before_episodes,
    )
)


def as_rules(grant: Grant) -> StopRules:
    """The limits in force, as if a run had typed them."""
    return StopRules(**{item.name: getattr(grant, item.name) for item in fields(StopRules)})


@given(GRANTS, RULES)
def test_what_is_in_force_is_never_looser_than_the_grant(grant: Grant, rules: StopRules) -> None:
    """Whatever a run types; and typing it again changes nothing."""
    found = tightened(grant, rules)
    assert looser(grant, as_rules(found)) == ()
    assert tightened(found, rules) == found
    assert tightened(grant, as_rules(found)) == found


@given(GRANTS, RULES)
def test_what_loosens_nothing_is_in_force_as_it_was_typed(grant: Grant, rules: StopRules) -> None:
    """A person who is not refused gets what was asked for."""
    if looser(grant, rules):
        return
    found = tightened(grant, rules)
    for item in fields(StopRules):
        typed = getattr(rules, item.name)
        if typed is not None:
            assert getattr(found, item.name) == typed


@given(RULES)
def test_rules_come_back_from_their_record(rules: StopRules) -> None:
    """What is frozen is what was typed, absent rules included."""
    record = json.loads(json.dumps(rules.record()))
    assert rules_from(Table(record, "stop_rules")) == rules
