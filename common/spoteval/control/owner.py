"""Which restarter serves an instance: the greatest key below `owner/`, no lock. Who takes over puts the next one."""

import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from spoteval.clock import stamp
from spoteval.control.holds import look
from spoteval.files import encoded, parse_record, read_text, write_new
from spoteval.publication.keys import owner_key
from spoteval.publication.listing import InstanceListing
from spoteval.shape import Reading, ShapeError, Unreadable
from spoteval.store.contract import Store, StoreError

IDENTITY = "identity"
"""The file of a restarter host's own name, in its state directory."""
_NAME = re.compile(r"(\d+)-(.+)")


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """One entry of the register; the greatest is the owner. Two that took over at once agree by their identities."""

    number: int
    identity: str

    def key(self, instance: str) -> str:
        """Its key in the store."""
        return owner_key(instance, self.number, self.identity)


def owner_of(listing: InstanceListing) -> Owner | None:
    """The owner as the LIST shows it, None where nobody ever took the instance over."""
    return owner_among(listing.owners)


def owner_among(names: Iterable[str]) -> Owner | None:
    """The greatest of these names (`<n>-<identity>`); what is no such name owns nothing."""
    found = (_NAME.fullmatch(name) for name in names)
    return max((Owner(int(item[1]), item[2]) for item in found if item is not None), default=None)


def next_owner(listing: InstanceListing, identity: str) -> Owner:
    """The entry that makes `identity` the owner; the one it has where it is the owner already."""
    now = owner_of(listing)
    if now is not None and now.identity == identity:
        return now
    return Owner(1 if now is None else now.number + 1, identity)


def next_owner_key(listing: InstanceListing, instance: str, identity: str) -> str:
    """The key of `next_owner`."""
    return next_owner(listing, identity).key(instance)


def identity(state_dir: Path) -> Reading[str]:
    """This restarter host's own name, made by whoever asks first and never changed.

    Unreadable where the file is damaged: then this host is nobody, hence no owner. Raises OSError where it
    cannot be made.
    """
    path = state_dir / IDENTITY
    if (found := read_text(path)) is None:
        write_new(path, f"{uuid.uuid4()}\n".encode())
        found = read_text(path)
    if isinstance(found, Unreadable):
        return found
    if found is None or not _is_identity(found):
        return Unreadable(f"{path}: damaged (rm it, then: spoteval restarter adopt)")
    return found


def register(store: Store, instance: str, who: str, at: datetime, by: str = "restarter") -> Owner:
    """Take the instance over; returns the owner as the store lists it after that. Repeating it changes nothing.

    Raises StoreError. Who finds another in the answer was overtaken: it may try again, or leave it.
    """
    mine = next_owner(look(store, instance), who)
    body = {"instance": instance, "identity": who, "by": by, "at": stamp(at)}
    store.put(mine.key(instance), encoded(body))
    listed = owner_of(look(store, instance))
    if listed is None or listed < mine:
        raise StoreError(f"{store.url}/{mine.key(instance)}: not listed after it was put")
    return listed


def owner_since(store: Store, instance: str, owner: Owner) -> Reading[datetime]:
    """When it took the instance over."""
    key = owner.key(instance)
    try:
        found = parse_record(store.get(key), key)
        return found if isinstance(found, Unreadable) else found.moment("at")
    except (StoreError, ShapeError) as error:
        return Unreadable(str(error))


def _is_identity(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
