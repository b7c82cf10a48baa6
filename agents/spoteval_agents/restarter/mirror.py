"""Holds of the store as files beside the touch files: `ls -R holds` is the whole truth, `rm` is the release."""

from dataclasses import replace

from spoteval.control.holds import release
from spoteval.files import remove, touch
from spoteval.publication.keys import safe
from spoteval.shape import Unreadable
from spoteval.store.contract import Store
from spoteval_agents.restarter.case import hold_text
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import KnownHold, State
from spoteval_agents.restarter.world import World

BY = "removed on the restarter host"


def mirror(world: World, state: State, seen: Seen) -> State:
    """Write the file of each hold that has none yet, release those whose file was removed, clear up the released.

    A file that was never there is not a file that was removed, and neither is one whose whole directory is gone.
    Returns the state that knows which files are there now: it is saved after they were written, never before.
    Raises OSError and StoreError; the next cycle goes on.
    """
    names = seen.mirror
    if world.store is None:
        return state
    if isinstance(names, Unreadable) or isinstance(seen.store, Unreadable):
        return state
    there = names if names is not None else frozenset()
    if there:  # releases are kept for ever: most looks have no file to hold against them
        for name in there & {safe(key) for key in seen.store.listing.releases}:
            remove(world.mirror / name)
    holds = tuple(_mirrored(world, world.store, item, names) for item in state.holds)
    return replace(state, holds=holds)


def _mirrored(
    world: World, store: Store, item: KnownHold, names: frozenset[str] | None
) -> KnownHold:
    name = safe(item.hold.id)
    if names is not None and name in names:
        return item
    if item.mirrored and names is not None:
        release(store, world.instance, item.hold.id, BY, world.clock().wall)
        return item
    touch(world.mirror / name, hold_text(item.hold))
    return replace(item, mirrored=True)
