"""Holds in the store: placed create-only, proved, read, released by a person."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from spoteval.clock import stamp
from spoteval.files import encoded, parse_record
from spoteval.hold import Hold, hold_from, unread_hold
from spoteval.publication.keys import hold_key, instance_prefix, release_key
from spoteval.publication.listing import InstanceListing, listing
from spoteval.shape import Reading, Unreadable
from spoteval.store.contract import Store, StoreError

PROVED, ACKNOWLEDGED = "proved", "acknowledged"


def place(store: Store, hold: Hold) -> str:
    """Put the hold and prove it; returns the strength of the proof.

    `proved` = a second create-only put of the same key answered that it exists: works under a key that may only put.
    `acknowledged` = the store took it twice: it ignores the condition, and says that it holds these bytes. Raises
    StoreError where it cannot be put.
    """
    key, body = hold_key(hold.instance, hold.id), encoded(hold.record())
    store.put(key, body)
    return ACKNOWLEDGED if store.put(key, body).is_ours else PROVED


def read_back(store: Store, hold: Hold) -> str:
    """Strength `read`: the hold is seen by LIST. Raises StoreError where it is not there."""
    if hold.id not in look(store, hold.instance).standing:
        raise StoreError(f"{store.url}: the hold {hold.id} is not listed after it was put")
    return "read"


def look(store: Store, instance: str) -> InstanceListing:
    """One LIST of everything about the instance; raises StoreError."""
    return listing(instance, (item.key for item in store.list(instance_prefix(instance))))


def fetch(store: Store, instance: str, ids: Iterable[str]) -> tuple[Hold, ...]:
    """The holds of these ids. One whose body is damaged or out of reach is a hold all the same."""
    return tuple(_fetched(store, instance, hold_id) for hold_id in ids)


def release(store: Store, instance: str, hold_id: str, by: str, at: datetime) -> None:
    """Lift one hold; a person does that. Raises StoreError."""
    body = {"id": hold_id, "instance": instance, "by": by, "at": stamp(at)}
    store.put(release_key(instance, hold_id), encoded(body))


def _fetched(store: Store, instance: str, hold_id: str) -> Hold:
    found = _read(store, hold_key(instance, hold_id))
    if isinstance(found, Unreadable):
        return unread_hold(hold_id, instance, found.why)
    # The key names it: a release is of the same key, whatever the body says.
    return replace(found, id=hold_id, instance=instance)


def _read(store: Store, key: str) -> Reading[Hold]:
    try:
        table = parse_record(store.get(key), key)
    except StoreError as error:
        return Unreadable(str(error))
    return table if isinstance(table, Unreadable) else hold_from(table)
