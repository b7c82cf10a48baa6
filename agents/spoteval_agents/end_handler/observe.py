"""What the answers that came in change: pure."""

from collections.abc import Mapping
from dataclasses import replace

from spoteval.clock import Now, elapsed_s
from spoteval.control.requests import FINAL, Answer
from spoteval.shape import Reading, Unreadable
from spoteval_agents.end_handler.decide import FACT, SETTLE
from spoteval_agents.end_handler.seen import RunSeen, Seen, State

LATE_S = 5.0
"""So long after its deadline a request is taken for lost, and put again."""


def observe(
    state: State,
    replies: Mapping[str, Reading[str]],
    answer: Reading[Answer | None],
    now: Now,
) -> State:
    """The state after what the work beside the loop said, and what the follower answered."""
    for act, said in replies.items():
        state = _replied(state, act, said)
    return _answered(state, answer, now)


def of_run(state: State, seen: Seen) -> State:
    """The state as far as it is about the active run: what was answered about another one says nothing of it.

    What still works for the other one may answer later; until then nothing is kept.
    """
    if not isinstance(seen.run, RunSeen) or state.run == seen.run.name:
        return state
    return State(run=seen.run.name if seen.work is None else None)


def _replied(state: State, act: str, said: Reading[str]) -> State:
    if isinstance(said, Unreadable):
        count = state.failures.get(act, 0) + 1
        return replace(state, failures={**state.failures, act: count}, failed=said.why)
    state = replace(state, failed=None)
    if act == SETTLE:
        return replace(state, settled=True)
    return replace(state, fact=True) if act == FACT else state


def _answered(state: State, answer: Reading[Answer | None], now: Now) -> State:
    asked = state.asked
    if asked is None:
        return state
    over = replace(state, asked=None, answered=now.mark)
    if isinstance(answer, Answer):
        if asked.kind == FINAL:
            return replace(over, pending=answer.backlog, failed=None)
        if asked.last:
            return replace(over, last_passed=True, failed=None)
        return replace(over, end_passed=answer.backlog == 0, failed=None)
    waited_s = elapsed_s(asked.at, now)
    if waited_s is not None and waited_s < asked.deadline_s + LATE_S:
        return state
    if asked.last:
        return replace(over, last_passed=True)
    return replace(over, failed="the publication follower did not answer")
