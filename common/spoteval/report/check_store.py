"""The checks of the store: may this key put, is a put create-only, and is it refused what it must be refused."""

import os
import pwd
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from spoteval.clock import Now, stamp
from spoteval.files import encoded, write_record
from spoteval.publication.keys import fact_key, instance_prefix, release_key
from spoteval.report.check import OK, WARN, Check, fail, ok, warn
from spoteval.store.contract import Store, StoreError, StoreRefused

PROBE = "store-probe.json"
"""What `check` last saw the store do, in the directory that this host keeps."""
_ID = "check"
_DAMAGED = "damaged"
"""What a store that looks at no digest keeps under this name was never meant."""
_PAGE = "docs/stores/s3.md"


def probed(store: Store, instance: str, state: Path, now: Now) -> Iterator[Check]:
    """What the store does with a put, by trying; kept below `state` where this host's user may write there."""
    found = [put_check(store, instance), *digest_check(store, instance)]
    yield from found
    with suppress(OSError):
        note_probe(state / PROBE, store.url, found, now)


def put_check(store: Store, instance: str) -> Check:
    """Put one small object twice where this host may: a store that is create-only says the second time that it exists.

    What is there already stays: trying again changes nothing.
    """
    key = _key(instance)
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


def digest_check(store: Store, instance: str) -> Iterator[Check]:
    """Whether the store holds a put to its digests; a directory has no wire on which bytes are damaged.

    A store that does not keeps one small object of it, at the first check.
    """
    refuses = getattr(store, "refuses_damaged", None)
    if refuses is None:
        return
    try:
        is_held = bool(refuses(_key(instance, _DAMAGED)))
    except StoreError as error:
        yield warn("digests", f"not known: {error}")
        return
    if is_held:
        yield ok("digests", "bytes that are not those of their digests are refused")
    else:
        text = (
            "the store takes bytes that are not those of their digests: what is damaged on the way"
        )
        yield warn("digests", f"{text} is found by pull and verify alone ({_PAGE}#digests)")


def note_probe(path: Path, url: str, found: Iterable[Check], now: Now) -> None:
    """Keep what the store was seen to do, for whoever asks later what its records are worth. Raises OSError.

    True, false, or null where nobody knows.
    """
    seen = {one.name: _SAYS.get(one.verdict) for one in found}
    does = {"create_only": seen.get("store"), "holds_digests": seen.get("digests")}
    write_record(path, {"at": stamp(now.wall), "store": url, **does})


_SAYS = {OK: True, WARN: False}


def guest_rights(store: Store, instance: str) -> Iterator[Check]:
    """A guest's key may put and nothing else; only services with keys of their own are asked."""
    if not store.url.startswith("s3://"):
        return
    if (why := _may_release(store, instance)) is not None:
        yield why
        return
    more = [word for word, may in (("list", _may_list), ("get", _may_get)) if may(store, instance)]
    if more:
        yield warn("store", f"this key may {' and '.join(more)}: a guest needs put alone ({_PAGE})")
    else:
        yield ok("store", "this key may neither list, get nor release")


def read_check(store: Store, instance: str) -> Check:
    """A restarter host must read what it put itself."""
    try:
        store.get(_key(instance))
    except StoreError as error:
        return fail("store", str(error))
    return ok("store", f"get below instances/{instance}/ works")


def folder_check(store: Store, agents: str = "spoteval") -> Iterator[Check]:
    """A store that is a directory belongs to the agents, where root looks at it: they are the ones who write there."""
    if os.geteuid() != 0 or not store.url.startswith("file://"):
        return
    folder = Path(store.url.removeprefix("file://"))
    try:
        user, found = pwd.getpwnam(agents), folder.stat()
    except (
        KeyError,
        OSError,
    ):  # no such user: a local node; no such directory: the put has said so
        return
    if found.st_uid != user.pw_uid and not found.st_mode & 0o002:
        text = f"{folder} belongs to uid {found.st_uid}, the agents are {agents}"
        yield fail("store", f"{text} (chown -R {agents}: {folder})")


def _may_release(store: Store, instance: str) -> Check | None:
    """A release of a hold that is never placed."""
    try:
        store.put(release_key(instance, _ID), encoded({"id": _ID}))
    except StoreRefused:
        return None
    except StoreError as error:
        return fail("store", str(error))
    return fail("store", f"this key may put releases, hence lift holds: take that away ({_PAGE})")


def _may_get(store: Store, instance: str) -> bool:
    try:
        store.get(_key(instance))
    except StoreError:
        return False
    return True


def _key(instance: str, name: str = _ID) -> str:
    return fact_key(instance, 0, _ID, name)


def _may_list(store: Store, instance: str) -> bool:
    try:
        for _ in store.list(instance_prefix(instance)):
            break
    except StoreError:
        return False
    return True
