"""Epochs: each boot claims the next one of its run, so that a copied disk cannot go on unseen beside its original.

Order of effects: the wish on disk, the object in the store (create-only), the claim on disk. A crash after the put
leaves a wish behind, by which the next life knows that the object is its own.
"""

from dataclasses import dataclass

from spoteval.clock import Now, stamp
from spoteval.files import (
    append_line,
    encoded,
    parse_record,
    read_lines,
    read_record,
    write_new_record,
)
from spoteval.paths import RunPaths
from spoteval.publication.keys import epoch_key
from spoteval.shape import ShapeError, Table, Unreadable
from spoteval.store.contract import Put, Store, StoreError, StoreRefused

_WISHES = "wishes.jsonl"


class Forked(Exception):
    """Another machine went on from this disk's state: refuse to resume and to publish."""


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who claims: the run, and this life of this instance."""

    run: str
    instance: str
    session: str


def claimed(paths: RunPaths, session: str) -> int | None:
    """The epoch that this session holds, None where it has claimed none (or its claim cannot be read)."""
    newest = _newest(paths)
    if newest == 0:
        return None
    found = read_record(paths.epochs / f"{newest}.json")
    return newest if isinstance(found, Table) and _session(found) == session else None


def claim(store: Store, paths: RunPaths, who: Claimant, now: Now) -> int:
    """Claim the next epoch for this session; the one it already holds, if it does.

    Raises Forked where the store has this epoch from somebody else, and StoreError where the store is away: then
    nothing is known, and the run may resume but not publish.
    """
    held = claimed(paths, who.session)
    if held is not None:
        return held
    epoch = _newest(paths) + 1
    while (owner := _put(store, paths, who, epoch, now)) != who.session:
        # An earlier life of this machine put it and was cut before it could write it down.
        _keep(paths, epoch, owner)
        epoch += 1
    _keep(paths, epoch, who.session)
    return epoch


def _put(store: Store, paths: RunPaths, who: Claimant, epoch: int, now: Now) -> str:
    """Put the claim; returns the session whose claim the store holds, which is of this machine."""
    wished = _wishes(paths, epoch)
    if who.session not in wished:
        append_line(paths.epochs / _WISHES, {"epoch": epoch, "session": who.session})
    key = epoch_key(who.run, epoch)
    body = {"session": who.session, "instance": who.instance, "at": stamp(now.wall)}
    answer = store.put(key, encoded(body))
    if answer.is_ours:
        return who.session
    if answer is Put.REPEATED:
        wished = (*wished, who.session)  # the store's own earlier try, of which no answer came
    owner = _owner(store, key, wished)
    if owner != who.session and owner not in wished:
        raise Forked(f'{key}: claimed by session "{owner}", which this disk does not know')
    return owner


def _owner(store: Store, key: str, wished: tuple[str, ...]) -> str:
    """Whose claim it is. A key that may only put cannot look: then a wish left by an earlier try is the evidence."""
    try:
        found = parse_record(store.get(key), key)
    except StoreRefused:
        return wished[-1] if wished else "unknown"
    if isinstance(found, Unreadable):
        raise StoreError(found.why)
    return _session(found)


def _keep(paths: RunPaths, epoch: int, session: str) -> None:
    write_new_record(paths.epochs / f"{epoch}.json", {"epoch": epoch, "session": session})


def _newest(paths: RunPaths) -> int:
    names = [path.stem for path in paths.epochs.glob("*.json")]
    return max((int(name) for name in names if name.isdigit()), default=0)


def _wishes(paths: RunPaths, epoch: int) -> tuple[str, ...]:
    records = read_lines(paths.epochs / _WISHES).records
    return tuple(str(record.get("session")) for record in records if record.get("epoch") == epoch)


def _session(table: Table) -> str:
    try:
        return table.text("session")
    except ShapeError:
        return "unknown"
