"""What the restarter puts where others see it: its own holds, and its name in the owner register."""

from spoteval.control.eventlog import tell
from spoteval.control.holds import place
from spoteval.control.owner import owner_of, register
from spoteval.files import touch
from spoteval.shape import Unreadable
from spoteval.store.contract import StoreError
from spoteval_agents.restarter.book import Book
from spoteval_agents.restarter.intent import placed
from spoteval_agents.restarter.policy import Policy, own_identity
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import KnownHold
from spoteval_agents.restarter.world import World


def put_holds(world: World, book: Book) -> None:
    """Put each hold that is decided and not yet where others see it; obeyed it is already.

    Create-only under a name that is on disk, so that whoever dies here puts the same one again. Raises OSError
    where the memory cannot be written.
    """
    for item in (item for item in book.state.holds if not item.placed):
        if _put(world, item):
            book.save(placed(book.state, item.hold.id), (), world.clock())


def adopt(world: World, policy: Policy, seen: Seen) -> None:
    """Take over what nobody owns. The next looks see it in the LIST, and count from there."""
    own = own_identity(policy)
    if own is None or world.store is None or isinstance(seen.store, Unreadable):
        return
    if owner_of(seen.store.listing) is not None:
        return
    try:
        register(world.store, world.instance, own, world.clock().wall)
    except StoreError as error:
        tell(f"instance={world.instance} not adopted: {error}", warning=True)


def _put(world: World, item: KnownHold) -> bool:
    try:
        if item.local:
            touch(world.paths.hold, item.hold.reason)
        elif world.store is not None:
            place(world.store, item.hold)
        else:
            return False
    except (OSError, StoreError) as error:
        tell(f"instance={world.instance} hold {item.hold.id} not placed: {error}", warning=True)
        return False
    return True
