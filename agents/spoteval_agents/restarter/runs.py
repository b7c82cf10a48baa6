"""The run that is assigned to an instance, and whether it is over."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from spoteval.files import parse_record, read_record, write_whole
from spoteval.publication.keys import end_key, record_key
from spoteval.publication.listing import InstanceListing
from spoteval.run import RunRecord, run_from
from spoteval.shape import Reading, Table, Unreadable
from spoteval.store.contract import NotThere, Store
from spoteval_agents.restarter.state import Assignment


def assignment(
    store: Store,
    listing: InstanceListing,
    assigned: tuple[str, int] | None,
    copy: Path,
    known: Assignment | None,
) -> Reading[Assignment | None]:
    """The newest assignment; None where there is none. Unreadable where its record is damaged, and there is no earlier.

    The record may reach the store later than the fact that names it: until it can be read the rules of the earlier
    record are obeyed, else a limit would fall while the next one is on its way. Raises StoreError.
    """
    if assigned is None:
        return None
    run, generation = assigned
    before = known if known is not None and known.run == run else None
    over = before.over if before is not None else None
    over = over if over is not None else _over(store, listing, run)
    if before is not None and before.recorded and before.generation == generation:
        return before if over == before.over else replace(before, over=over)
    record = _record(store, copy, run, generation)
    if isinstance(record, RunRecord):
        return replace(_of(record), over=over)
    earlier = _earlier(known, copy)
    if earlier is None:
        return record if isinstance(record, Unreadable) else Assignment(run, generation, over=over)
    return replace(
        earlier,
        run=run,
        generation=generation,
        deadline=earlier.deadline if earlier.run == run else None,
        over=over,
        recorded=False,
    )


def _of(record: RunRecord) -> Assignment:
    plan = record.plan
    return Assignment(
        record.name, record.generation, plan.deadline, rules=plan.stop_rules, recorded=True
    )


def _earlier(known: Assignment | None, copy: Path) -> Assignment | None:
    """Whose rules were obeyed last; where that is forgotten, those of the copy."""
    if known is None or not (known.recorded or known.obeys):
        kept = _parsed(read_record(copy))
        known = _of(kept) if isinstance(kept, RunRecord) else None
    if known is None or known.obeys is not None:
        return known
    return replace(known, obeys=f"{known.run}-{known.generation}")


def _over(store: Store, listing: InstanceListing, run: str) -> str | None:
    if listing.ended(run):
        return "ended-fact"
    try:
        store.get(end_key(run))
    except NotThere:
        return None
    return "end.json"


def _record(store: Store, copy: Path, run: str, generation: int) -> Reading[RunRecord | None]:
    """The copy on this host where it is the one that is wanted, else the store's, which is then kept."""
    kept = _parsed(read_record(copy))
    if isinstance(kept, RunRecord) and (kept.name, kept.generation) == (run, generation):
        return kept
    key = record_key(run, generation)
    try:
        data = store.get(key)
    except NotThere:
        return None
    found = _parsed(parse_record(data, key))
    if isinstance(found, RunRecord):
        with suppress(OSError):  # a copy: a full disk must not hide holds that can be read
            write_whole(copy, data, durable=False)
    return found


def _parsed(table: Reading[Table | None]) -> Reading[RunRecord | None]:
    return run_from(table) if isinstance(table, Table) else table
