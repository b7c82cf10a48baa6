"""Holds of the store as files beside the touch files: `ls -R holds` is the whole truth, `rm` is the release."""

from spoteval.control.holds import release
from spoteval.files import remove, touch
from spoteval.publication.keys import safe
from spoteval.shape import Unreadable
from spoteval_agents.restarter.case import hold_text
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import State
from spoteval_agents.restarter.world import World

BY = "removed on the restarter host"


def mirror(world: World, state: State, seen: Seen) -> None:
    """Write the file of each hold that has none yet, release those whose file was removed, clear up the released.

    A file that was never seen is not a file that was removed, and neither is one whose whole directory is gone.
    Raises OSError and StoreError; the next cycle goes on.
    """
    names = seen.mirror
    if isinstance(names, Unreadable) or isinstance(seen.store, Unreadable):
        return
    there = names if names is not None else frozenset()
    for item in state.holds:
        name = safe(item.hold.id)
        if name in there:
            continue
        if item.mirrored and names is not None:
            release(world.store, world.instance, item.hold.id, BY, world.clock().wall)
        else:
            touch(world.mirror / name, hold_text(item.hold))
    for name in there & {safe(key) for key in seen.store.listing.releases}:
        remove(world.mirror / name)
