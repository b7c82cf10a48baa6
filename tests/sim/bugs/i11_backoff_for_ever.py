"""I11: after a failed start, none is tried any more."""

import pytest

from spoteval.clock import Now
from spoteval_agents.restarter import rows_wait
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.state import State


def plant(patch: pytest.MonkeyPatch) -> None:
    """From now on the wait after a failed start has no end."""

    def left_s(state: State, policy: Policy, now: Now) -> float:
        return 1e9 if state.failures > 0 else 0.0

    patch.setattr(rows_wait, "retry_left_s", left_s)
