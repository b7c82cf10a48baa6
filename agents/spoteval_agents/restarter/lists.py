"""The LIST of an instance, sorted anew only when it has changed: most of a thousand instances are as they were."""

from spoteval.hold import Hold
from spoteval.publication.keys import instance_prefix
from spoteval.publication.listing import InstanceListing, listing
from spoteval.store.contract import Store
from spoteval_agents.restarter.seen import StoreSight
from spoteval_agents.restarter.state import Assignment


class Lists:
    """Remembers the last LIST and what was made of it. `assigned`: run and generation in it."""

    def __init__(self) -> None:
        self._keys: tuple[str, ...] | None = None
        self._listing = InstanceListing()
        self.assigned: tuple[str, int] | None = None
        self._sight = StoreSight(self._listing)

    def look(self, store: Store, instance: str) -> InstanceListing:
        """One LIST of everything about the instance; raises StoreError."""
        keys = tuple(item.key for item in store.list(instance_prefix(instance)))
        if keys != self._keys:
            self._keys, self._listing = keys, listing(instance, keys)
            self.assigned = self._listing.assigned
        return self._listing

    def sight(
        self, found: InstanceListing, bodies: tuple[Hold, ...], run: Assignment | None
    ) -> StoreSight:
        """What one look saw; the same as before where all of it is."""
        last = self._sight
        if last.listing is not found or last.bodies != bodies or last.run != run:
            self._sight = StoreSight(found, bodies, run)
        return self._sight
