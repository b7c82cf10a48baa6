"""I2: a start request goes out before it is on record."""

import pytest

from spoteval.clock import Now
from spoteval.decision import Decision
from spoteval_agents.restarter import cycle
from spoteval_agents.restarter.intent import intend
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import State
from spoteval_agents.restarter.telling import Step


def plant(patch: pytest.MonkeyPatch) -> None:
    """From now on the record of a start comes with its answer: who dies in between asks twice."""

    def late(decision: Decision, state: State, seen: Seen, policy: Policy, now: Now) -> Step:
        if decision.word == "start":
            return state, ()
        return intend(decision, state, seen, policy, now)

    patch.setattr(cycle, "intend", late)
