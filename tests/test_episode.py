"""Attempts and classes: every intended episode is in exactly one class (I4)."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoteval.episode import (
    CLASSES,
    NOT_RUN,
    Attempt,
    Outcome,
    Usage,
    attempt_from,
    classify,
    counted,
    tally,
)
from spoteval.shape import Unreadable

KEYS = st.sampled_from(["t/a/1", "t/a/2", "t/b/1", "stray"])
OUTCOMES = st.sampled_from([*Outcome, None])
ATTEMPTS = st.lists(
    st.builds(
        Attempt,
        key=KEYS,
        native_id=st.uuids().map(str),
        outcome=OUTCOMES,
        number=st.integers(0, 9),
        usage=st.builds(Usage, st.integers(0, 10**9), st.integers(0, 10**9)),
    ),
    max_size=12,
)
INTENDED = st.lists(KEYS.filter(lambda key: key != "stray"), unique=True)


def an(outcome: Outcome | None, number: int = 1, key: str = "k") -> Attempt:
    """An attempt of that outcome and number."""
    return Attempt(key, f"{key}-{number}", outcome, number)


@given(intended=INTENDED, attempts=ATTEMPTS)
def test_i4_classes_partition_the_intended_episodes(
    intended: list[str], attempts: list[Attempt]
) -> None:
    """Whatever attempts there are, also of episodes that nobody intended: one class each, and the sum is right."""
    classes = classify(intended, attempts)
    assert list(classes) == intended
    assert set(classes.values()) <= set(CLASSES)
    counts = tally(classes)
    assert list(counts) == list(CLASSES)
    assert sum(counts.values()) == len(intended)


@given(attempts=ATTEMPTS)
def test_the_order_in_which_attempts_are_told_does_not_matter(attempts: list[Attempt]) -> None:
    """The number says which was first, not the file that told it."""
    numbered = [
        Attempt(item.key, item.native_id, item.outcome, index)
        for index, item in enumerate(attempts, start=1)
    ]
    keys = ["t/a/1", "t/a/2", "t/b/1"]
    assert classify(keys, numbered) == classify(keys, reversed(numbered))


@given(attempts=ATTEMPTS)
def test_usage_adds_up_over_attempts(attempts: list[Attempt]) -> None:
    """What a record carries through a log is what was spent."""
    back = [attempt_from(attempt.record()) for attempt in attempts]
    spent = sum(item.usage.output_tokens for item in back if isinstance(item, Attempt))
    assert spent == sum(attempt.usage.output_tokens for attempt in attempts)


@pytest.mark.parametrize(
    ("attempts", "number"),
    [
        ([], None),
        ([an(None, 1)], 1),
        ([an(Outcome.PREEMPTION_INTERRUPTED, 1), an(Outcome.COMPLETED, 2)], 2),
        ([an(Outcome.COMPLETED, 1), an(Outcome.COMPLETED, 2)], 1),
        ([an(Outcome.MODEL_FAILURE, 1), an(Outcome.COMPLETED, 2)], 1),
        ([an(Outcome.PREEMPTION_INTERRUPTED, 1), an(Outcome.OPERATOR_STOPPED, 2)], 2),
        ([an(Outcome.PREEMPTION_INTERRUPTED, 1), an(None, 2)], 2),
    ],
)
def test_the_counted_attempt(attempts: list[Attempt], number: int | None) -> None:
    """The first that ended by itself, else the last: nobody gets a second chance out of a preemption."""
    found = counted(attempts)
    assert (found.number if found else None) == number


@pytest.mark.parametrize("outcome", Outcome)
def test_each_outcome_is_a_class(outcome: Outcome) -> None:
    """An episode with one attempt is of that attempt's class."""
    assert classify(["k"], [an(outcome)]) == {"k": outcome.value}


def test_without_an_end_an_episode_was_not_run() -> None:
    """No attempt, or one of which nothing tells how it ended."""
    assert classify(["k", "l"], [an(None)]) == {"k": NOT_RUN, "l": NOT_RUN}


@pytest.mark.parametrize("outcome", Outcome)
def test_only_a_stop_of_the_machine_is_no_end_of_its_own(outcome: Outcome) -> None:
    """The two cut outcomes, and no other."""
    cut = outcome in (Outcome.PREEMPTION_INTERRUPTED, Outcome.OPERATOR_STOPPED)
    assert an(outcome).finished is not cut


def test_a_whole_attempt_comes_back() -> None:
    """Everything but the parts, which are not in a line."""
    at = datetime(2026, 12, 1, 2, 58, 11, tzinfo=UTC)
    whole = Attempt(
        key="t/s/1",
        native_id="uuid",
        outcome=Outcome.BUDGET_SHORTENED,
        number=3,
        verdict="C",
        limit="tokens",
        error="none",
        usage=Usage(7, 8),
        started=at,
        ended=at,
        session="s",
    )
    assert attempt_from(whole.record()) == whole


@pytest.mark.parametrize("wrong", [{"outcome": "won"}, {"attempt": "1"}, {"started": "noon"}])
def test_a_foreign_line_is_unreadable(wrong: dict[str, object]) -> None:
    """An outcome that does not exist is not None, and never an exception."""
    assert isinstance(attempt_from({**an(Outcome.COMPLETED).record(), **wrong}), Unreadable)
