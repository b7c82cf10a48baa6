"""What to do with one instance now. Pure: it only reads what `observe` remembered.

ROWS is the table of the design, with its numbers; the first row that matches decides.
"""

from collections.abc import Callable

from spoteval.clock import Now
from spoteval.decision import Decision
from spoteval_agents.restarter.case import Case
from spoteval_agents.restarter.policy import Policy, rated_s
from spoteval_agents.restarter.rows_hold import hold_unknown, known_hold
from spoteval_agents.restarter.rows_start import fresh_start, not_owner, price
from spoteval_agents.restarter.rows_state import (
    gone,
    moving,
    not_understood,
    over_running,
    silent,
    start_stuck,
)
from spoteval_agents.restarter.rows_stop import (
    provider_restarts,
    stop_rule,
    stopped_on_purpose,
    unrestartable,
)
from spoteval_agents.restarter.rows_wait import no_run, start_pending, waiting
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import State

ROWS: tuple[tuple[int, Callable[[Case], Decision | None]], ...] = (
    (1, known_hold),
    (2, gone),
    (3, not_understood),
    (4, over_running),
    (5, silent),
    (6, start_stuck),
    (7, moving),
    (8, hold_unknown),
    (9, no_run),
    (10, stopped_on_purpose),
    (11, provider_restarts),
    (12, unrestartable),
    (13, start_pending),
    (14, stop_rule),
    (15, waiting),
    (16, not_owner),
    (17, price),
)


def decide(state: State, seen: Seen, policy: Policy, now: Now) -> Decision:
    """The first row that matches; where none does, row 18: a start, if what was seen is still fresh."""
    case = Case(state, seen, policy, now)
    for _, row in ROWS:
        if (decision := row(case)) is not None:
            return decision
    return fresh_start(case)


_IN_MOTION = frozenset(
    ["starting", "stopping", "grace", "start", "start-pending", "recovering", "changed", "stop"]
)
_MOVING = frozenset(["STARTING", "STOPPING"])


def pause_s(decision: Decision, state: State, policy: Policy) -> float:
    """Seconds until the next look: short while something moves, long while the provider asks for rest."""
    poll, word = policy.poll, decision.word
    rated = state.counts.rated
    if state.unknown is not None and state.unknown.kind == "rate":
        rated = max(rated, state.unknown.repeats)
    if rated > 0:
        return rated_s(poll.every_s, rated)
    moves = word in _IN_MOTION or (state.word in _MOVING and word != "unknown")
    next_s = decision.pairs.get("next_s")
    if word == "grace" and isinstance(next_s, int | float):
        return min(poll.in_motion_s, next_s)
    soon = next_s == poll.in_motion_s
    return poll.in_motion_s if moves or soon else poll.every_s
