"""I7: what runs under a hold that wants it off is left running."""

import pytest

from spoteval_agents.restarter.case import Case


def plant(patch: pytest.MonkeyPatch) -> None:
    """From now on nothing is on, so that nothing has to be stopped."""
    patch.setattr(Case, "on", property(lambda case: False))
