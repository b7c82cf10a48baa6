"""What to do with one instance now. Pure: it only reads what `observe` remembered.

ROWS is the table of the design, with its numbers; the first row that matches decides. Rows that are not
here yet (gone, over-running, silent, stop rules, ownership …) have their place between the others.
"""

from collections.abc import Callable

from spoteval.clock import Now
from spoteval.decision import Decision
from spoteval_agents.restarter.case import Case
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.rows_hold import hold_unknown, known_hold
from spoteval_agents.restarter.rows_start import fresh_start, price
from spoteval_agents.restarter.rows_state import moving, not_understood
from spoteval_agents.restarter.rows_wait import no_run, start_pending, waiting
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import State

ROWS: tuple[tuple[int, Callable[[Case], Decision | None]], ...] = (
    (1, known_hold),
    (3, not_understood),
    (7, moving),
    (8, hold_unknown),
    (9, no_run),
    (13, start_pending),
    (15, waiting),
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


def pause_s(decision: Decision, policy: Policy) -> float:
    """Seconds until the next look."""
    in_motion = decision.word in _IN_MOTION
    return policy.poll.in_motion_s if in_motion else policy.poll.every_s
