"""What changed since the last look: starts reached and failed, stops with their cause, counters. Pure.

Runs always, whatever is held; `decide` only reads what this remembers.
"""

from collections.abc import Callable

from spoteval.clock import Now
from spoteval.event import Event
from spoteval_agents.restarter.holding import (
    see_file_hold,
    see_mirror,
    see_run,
    see_store_holds,
    see_unheard,
    see_waived,
    see_wanted,
)
from spoteval_agents.restarter.lives import see_boot, see_missed_stop, see_stopped
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.reports import see_reports
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.starts import see_reached, see_window
from spoteval_agents.restarter.state import State
from spoteval_agents.restarter.telling import News, Step
from spoteval_agents.restarter.watching import (
    see_absent,
    see_advice,
    see_drill,
    see_finished,
    see_keep,
    see_outage,
    see_over,
    see_owner,
    see_price,
    see_silent,
    see_unknown,
    see_word,
)


def observe(state: State, seen: Seen, policy: Policy, now: Now) -> tuple[State, News]:
    """The state after this look, and the events that it brought."""
    news: list[Event] = []
    for step in STEPS:
        state, more = step(state, seen, policy, now)
        news += more
    return state, tuple(news)


STEPS: tuple[Callable[[State, Seen, Policy, Now], Step], ...] = (
    see_file_hold,
    see_store_holds,
    see_wanted,
    see_mirror,
    see_run,
    see_drill,
    see_finished,
    see_keep,
    see_outage,
    see_unheard,
    see_owner,
    see_unknown,
    see_absent,
    see_missed_stop,
    see_reached,
    see_stopped,
    see_window,
    see_advice,
    see_word,
    see_boot,
    see_over,
    see_silent,
    see_price,
    see_waived,
    see_reports,
)
