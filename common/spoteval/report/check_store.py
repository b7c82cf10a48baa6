"""The checks of the store: may this key put, is a put create-only, and is it refused what it must be refused."""

from collections.abc import Iterator

from spoteval.files import encoded
from spoteval.publication.keys import fact_key, instance_prefix, release_key
from spoteval.report.check import Check, fail, ok, warn
from spoteval.store.contract import Store, StoreError, StoreRefused

_ID = "check"
_PAGE = "docs/stores/s3.md"


def put_check(store: Store, instance: str) -> Check:
    """Put one small object twice where this host may: a store that is create-only says the second time that it exists.

    What is there already stays: trying again changes nothing.
    """
    key = fact_key(instance, 0, _ID, _ID)
    works = f"{store.url}: put below instances/{instance}/ works"
    try:
        store.put(key, encoded({}))
        second = store.put(key, encoded({}))
    except StoreError as error:
        return fail("store", str(error))
    if not second.is_ours:
        return ok("store", f"{works}, create-only")
    return warn(
        "store",
        f"{works}, but not create-only: holds are acknowledged and not proved ({_PAGE}#create-only)",
    )


def guest_rights(store: Store, instance: str) -> Iterator[Check]:
    """A guest's key may put and nothing else; only services with keys of their own are asked."""
    if not store.url.startswith("s3://"):
        return
    if (why := _may_release(store, instance)) is not None:
        yield why
    elif _may_list(store, instance):
        yield warn("store", f"this key may list: a guest needs put alone ({_PAGE})")
    else:
        yield ok("store", "this key may neither list nor release")


def _may_release(store: Store, instance: str) -> Check | None:
    """A release of a hold that is never placed."""
    try:
        store.put(release_key(instance, _ID), encoded({"id": _ID}))
    except StoreRefused:
        return None
    except StoreError as error:
        return fail("store", str(error))
    return fail("store", f"this key may put releases, hence lift holds: take that away ({_PAGE})")


def _may_list(store: Store, instance: str) -> bool:
    try:
        for _ in store.list(instance_prefix(instance)):
            break
    except StoreError:
        return False
    return True
