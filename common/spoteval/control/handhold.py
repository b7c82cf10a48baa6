"""What a person does with holds: place, read back, release."""

from collections.abc import Iterable
from datetime import datetime

from spoteval.control.holds import look, place, read_back, release
from spoteval.control.refused import Failed
from spoteval.files import read_text, remove, touch
from spoteval.hold import Hold
from spoteval.paths import InstancePaths
from spoteval.publication.keys import safe
from spoteval.shape import Unreadable
from spoteval.store.contract import Store


def hold_file(paths: InstancePaths, text: str) -> str:
    """Touch the restarter's file and read it back; returns the reason that stands. Raises Failed, OSError.

    A file that stands keeps its own reason. The restarter reads it at each poll, also while the store is away.
    """
    touch(paths.hold, text)
    found = read_text(paths.hold)
    if found is None or isinstance(found, Unreadable):
        why = "it is gone" if found is None else found.why
        raise Failed(f"{paths.hold}: cannot be read back: {why}. Nothing was stopped")
    return found


def hold_object(store: Store, hold: Hold, may_list: bool) -> str:
    """Put the hold into the store; returns the strength of its proof, `read` where the key may list.

    Raises StoreError: then the hold is not proved.
    """
    proved = place(store, hold)
    return read_back(store, hold) if may_list else proved


def release_objects(
    store: Store, instance: str, ids: Iterable[str], by: str, at: datetime
) -> tuple[str, ...]:
    """Release these holds, and see in a LIST that they stand no more. Raises StoreError, Failed."""
    wanted = tuple(ids)
    for hold_id in wanted:
        release(store, instance, hold_id, by, at)
    left = set(look(store, instance).standing) & set(wanted)
    if left:
        raise Failed(f"{store.url}: released, and still listed as standing: {sorted(left)}")
    return wanted


def release_files(paths: InstancePaths, ids: Iterable[str]) -> tuple[str, ...]:
    """Remove the touch file and the mirrors of these holds; returns what was removed."""
    file = (str(paths.hold),) if remove(paths.hold) else ()
    return (*file, *release_mirrors(paths, ids))


def release_mirrors(paths: InstancePaths, ids: Iterable[str]) -> tuple[str, ...]:
    """Remove the mirrors of these holds alone: the touch file is somebody's; returns what was removed."""
    mirrors = paths.hold.with_name(f"{paths.hold.name}.d")
    own = sorted(mirrors / safe(hold_id) for hold_id in ids)
    return tuple(str(path) for path in own if remove(path))
