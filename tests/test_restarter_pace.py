"""How soon it looks again: soon while something moves, at the end of the grace, rarely where it was asked to."""

from dataclasses import replace

import pytest

from restarter_story import OWNED, POLICY, PRICE, RUN, look, mark, now, stopped
from spoteval.config.restarter import PollSettings
from spoteval.decision import Decision
from spoteval.provider.contract import ErrorKind, State
from spoteval_agents.restarter.decide import decide, pause_s
from spoteval_agents.restarter.state import Ask, Counts, Life, Unknown
from spoteval_agents.restarter.state import State as Memory

RUNS = Memory(
    word="RUNNING", since=mark(0), life=Life(mark(0), PRICE), run=RUN, price=PRICE, owner=OWNED
)


@pytest.mark.parametrize(
    ("stopped_s", "next_s"),
    [(0, 10), (50, 10), (50.5, 9.5), (55, 5), (59, 1), (59.5, 1), (59.96, 1)],
)
def test_the_look_after_the_grace_is_on_time(stopped_s: float, next_s: float) -> None:
    """Not up to ten seconds late; and however close, there is a second between two looks."""
    decision = decide(stopped(), look(), POLICY, now(stopped_s))
    assert (decision.word, decision.pairs["next_s"]) == ("grace", next_s)
    assert pause_s(decision, stopped(), POLICY) == next_s


@pytest.mark.parametrize(
    "word",
    ["starting", "stopping", "start", "start-pending", "recovering", "changed", "stop"],
)
def test_what_moves_is_looked_at_soon(word: str) -> None:
    """Every ten seconds, whatever stands in the line."""
    assert pause_s(Decision(word), stopped(), POLICY) == 10
    assert pause_s(Decision(word), stopped(), replace(POLICY, poll=SLOW)) == 7


SLOW = PollSettings(every_s=300.0, in_motion_s=7.0)


@pytest.mark.parametrize(
    "word", ["held", "running", "no-run", "run-over", "backoff", "price", "stop-rule", "gone"]
)
def test_what_stands_is_looked_at_every_minute(word: str) -> None:
    """And every time that the settings say so."""
    assert pause_s(Decision(word), stopped(), POLICY) == 60
    assert pause_s(Decision(word, {"next_s": 60.0}), stopped(), POLICY) == 60
    assert pause_s(Decision(word), stopped(), replace(POLICY, poll=SLOW)) == 300


@pytest.mark.parametrize("state", ["STARTING", "STOPPING"])
def test_what_moves_under_a_hold_is_looked_at_soon_too(state: str) -> None:
    """The word of the decision is not all that counts; without an answer, the last state says nothing."""
    memory = replace(RUNS, word=state)
    assert pause_s(Decision("held"), memory, POLICY) == 10
    assert pause_s(Decision("unknown"), memory, POLICY) == 60
    assert pause_s(Decision("held"), RUNS, POLICY) == 60


def test_a_line_that_says_soon_is_obeyed() -> None:
    """Rows that wait for somebody else's next look say so themselves."""
    assert pause_s(Decision("not-owner", {"next_s": 10.0}), stopped(), POLICY) == 10


@pytest.mark.parametrize(
    ("counted", "kind", "repeats", "expected"),
    [
        (0, None, 0, 10),
        (1, None, 0, 120),
        (2, None, 0, 240),
        (9, None, 0, 900),
        (0, "timeout", 9, 60),
        (0, "rate", 1, 120),
        (1, "rate", 2, 240),
        (3, "rate", 2, 480),
    ],
)
def test_whoever_asks_for_rest_gets_it(
    counted: int, kind: ErrorKind | None, repeats: int, expected: float
) -> None:
    """Refusals of starts and of looks, whichever are more; also while something moves."""
    unknown = Unknown(mark(0), "said so", repeats, kind) if kind is not None else None
    memory = stopped(counts=Counts(rated=counted), unknown=unknown, ask=Ask(mark(0)))
    word = "start-pending" if unknown is None else "unknown"
    assert pause_s(Decision(word), memory, POLICY) == expected


def test_rows_of_what_runs_say_their_pace() -> None:
    """Every minute while it is on, every ten seconds while it comes up or goes down."""
    for state, expected in ((State.RUNNING, 60), (State.STARTING, 10), (State.STOPPING, 10)):
        memory = replace(RUNS, word=state.value)
        decision = decide(memory, look(state), POLICY, now(0))
        assert decision.pairs["next_s"] == expected
        assert pause_s(decision, memory, POLICY) == expected
