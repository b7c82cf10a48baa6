"""I6: an instance that does not stop at once is asked to stop at every look."""

import pytest

from spoteval_agents.restarter.case import Case


def plant(patch: pytest.MonkeyPatch) -> None:
    """From now on nothing lies between two stop requests."""
    patch.setattr(Case, "stop_wait_s", property(lambda case: 0.0))
