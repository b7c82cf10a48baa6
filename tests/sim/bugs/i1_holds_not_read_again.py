"""I1: the price is read, and the holds are not read again after it."""

from dataclasses import replace

import pytest

from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import State
from spoteval_agents.restarter.world import PRICE_S, World


def plant(patch: pytest.MonkeyPatch) -> None:
    """From now on a hold that comes with the price is not seen."""

    def look_again(world: World, state: State, seen: Seen) -> Seen:
        return replace(seen, price=world.provider.price(PRICE_S))

    patch.setattr(World, "look_again", look_again)
