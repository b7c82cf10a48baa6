"""I5: a mirrored hold whose file is not there is taken for one that a person lifted."""

from dataclasses import replace

import pytest

from spoteval_agents.restarter import cycle
from spoteval_agents.restarter.mirror import mirror
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import State
from spoteval_agents.restarter.world import World


def plant(patch: pytest.MonkeyPatch) -> None:
    """From now on a file that was never there counts as removed."""

    def eager(world: World, state: State, seen: Seen) -> State:
        holds = tuple(replace(item, mirrored=True) for item in state.holds)
        return mirror(world, replace(state, holds=holds), seen)

    patch.setattr(cycle, "mirror", eager)
