"""The guest's last sign of life, for the line of a running instance. Never for a decision."""

from datetime import datetime

from spoteval.clock import Now, left_s
from spoteval.files import parse_record
from spoteval.publication.keys import heartbeat_key
from spoteval.shape import ShapeError, Table, Unreadable
from spoteval.store.contract import Store
from spoteval_agents.restarter.seen import Guest


def newest_sign(store: Store, run: str, session: str, now: Now) -> Guest | None:
    """The newest heartbeat of this boot, None before the first. Raises StoreError."""
    prefix = heartbeat_key(run, session, 0).rpartition("/")[0] + "/"
    keys = [item.key for item in store.list(prefix)]
    if not keys:
        return None
    table = parse_record(store.get(keys[-1]), keys[-1])
    return None if isinstance(table, Unreadable) else _sign(table, now)


def _sign(table: Table, now: Now) -> Guest | None:
    try:
        ahead_s = left_s(_moment(table), now)
        return Guest(
            age_s=max(0.0, -ahead_s) if ahead_s is not None else None,
            finished=_count(table, "finished"),
            intended=_count(table, "intended"),
            in_flight=_count(table, "in_flight"),
        )
    except ShapeError:
        return None


def _moment(table: Table) -> datetime:
    """`at` is a stamp, or a mark with its wall time."""
    return table.mark("at").wall if isinstance(table.values.get("at"), dict) else table.moment("at")


def _count(table: Table, key: str) -> int | None:
    value = table.maybe_number(key)
    return int(value) if value is not None else None
