"""Settlement: every cut attempt is settled exactly once (I4)."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoteval.episode import Attempt, Outcome
from spoteval.interruption import END, IDLE, OPERATOR, PREEMPTED, UNKNOWN
from spoteval.settlement import cut_outcome, settle, settled_attempts, unsettled

AT = datetime(2026, 12, 1, 3, 0, tzinfo=UTC)
ROUNDS = st.lists(st.frozensets(st.integers(0, 5), max_size=4), max_size=6)


def attempt(number: int) -> Attempt:
    """A begin of an episode: two episodes, several begins each."""
    return Attempt(f"t/s/{number % 2}", f"uuid-{number}", None, number + 1)


def settled(cut: list[Attempt], records: list[dict[str, object]], name: str) -> None:
    """Append what one interruption settles."""
    lines = settle(cut, records, name, PREEMPTED, "fresh_budget", AT)
    records += [line.record() for line in lines]


@given(rounds=ROUNDS)
def test_i4_each_cut_attempt_is_settled_exactly_once(rounds: list[frozenset[int]]) -> None:
    """However often and in whichever interruptions it is seen as cut."""
    records: list[dict[str, object]] = []
    for index, numbers in enumerate(rounds):
        cut = [attempt(number) for number in sorted(numbers)]
        settled(cut, records, f"i-{index}")
        settled(cut, records, f"i-{index}")
        assert unsettled(cut, records) == ()
    times = Counter(str(record["native_id"]) for record in records)
    assert times == Counter({f"uuid-{number}": 1 for number in frozenset().union(*rounds)})


@given(rounds=ROUNDS, kept=st.integers(0, 200))
def test_i4_a_settlement_cut_short_is_completed_by_the_next(
    rounds: list[frozenset[int]], kept: int
) -> None:
    """Lines that a crash left out are written later, and those that were written are not written again."""
    records: list[dict[str, object]] = []
    for index, numbers in enumerate(rounds):
        settled([attempt(number) for number in sorted(numbers)], records, f"i-{index}")
    before = records[: kept % (len(records) + 1)]
    cut = [attempt(number) for number in sorted(frozenset[int]().union(*rounds))]
    settled(cut, before, "again")
    assert {record["native_id"] for record in before} == {item.native_id for item in cut}
    assert len(before) == len(cut)


@pytest.mark.parametrize("other", ["i-1", "i-2"])
def test_of_two_lines_about_one_attempt_the_first_counts(other: str) -> None:
    """Two processes that settled at once, in the same interruption or another: the attempt is told once."""
    first, second = attempt(0), replace(attempt(0), error="later")
    records = [
        settle([item], [], name, PREEMPTED, "none", AT)[0].record()
        for item, name in ((first, "i-1"), (second, other))
    ]
    assert [item.error for item in settled_attempts(records)] == [None]


def test_a_foreign_line_settles_nothing() -> None:
    """A line that is no attempt is left out, and does not take another's place."""
    line = settle([attempt(0)], [], "i-1", PREEMPTED, "none", AT)[0].record()
    assert len(settled_attempts([{"interruption": "i-1"}, line])) == 1


@pytest.mark.parametrize(
    ("cause", "outcome"),
    [
        (PREEMPTED, Outcome.PREEMPTION_INTERRUPTED),
        (UNKNOWN, Outcome.PREEMPTION_INTERRUPTED),
        (OPERATOR, Outcome.OPERATOR_STOPPED),
        (END, Outcome.OPERATOR_STOPPED),
        (IDLE, Outcome.OPERATOR_STOPPED),
    ],
)
def test_the_outcome_follows_from_the_cause(cause: str, outcome: Outcome) -> None:
    """A stop that we or a person decided is none of the market's."""
    assert cut_outcome(cause) is outcome
    line = settle([attempt(0)], [], "i-1", cause, "fresh_budget", AT)[0]
    assert (line.attempt.outcome, line.policy) == (outcome, "fresh_budget")


def test_a_line_says_what_was_cut_and_by_which_policy() -> None:
    """Its keys are those of an attempt, with the interruption, the time and the policy before them."""
    record = settle([attempt(0)], [], "i-1", PREEMPTED, "fresh_budget", AT)[0].record()
    assert list(record)[:4] == ["interruption", "at", "policy", "episode"]
    assert record["at"] == "2026-12-01T03:00:00.000Z"
