"""The guest's last sign of life: shown in the line of a running instance, and it says how many are finished."""

from datetime import datetime

from spoteval.clock import Now, left_s
from spoteval.files import parse_record
from spoteval.publication.keys import heartbeat_key
from spoteval.shape import ShapeError, Table, Unreadable
from spoteval.store.contract import NotThere, Store
from spoteval_agents.restarter.seen import Guest

_AHEAD = 100
"""Signs that one look goes on by; the next looks catch up."""


class Signs:
    """Goes on from the sign that was the newest: they are numbered, so that a long run costs no longer listing."""

    def __init__(self) -> None:
        self._of: tuple[str, str] | None = None
        self._number: int | None = None
        self._table: Table | None = None

    def newest(self, store: Store, run: str, session: str, now: Now) -> Guest | None:
        """The newest heartbeat of this boot, None before the first. Raises StoreError."""
        if self._of != (run, session):
            self._of, self._number, self._table = (run, session), None, None
        if self._number is None:
            self._number = _newest_number(store, run, session)
            if self._number is None:
                return None
            self._table = _read(store, heartbeat_key(run, session, self._number))
        for number in range(self._number + 1, self._number + 1 + _AHEAD):
            try:
                found = _read(store, heartbeat_key(run, session, number))
            except NotThere:
                break
            self._number, self._table = number, found
        return _sign(self._table, now) if self._table is not None else None


def _newest_number(store: Store, run: str, session: str) -> int | None:
    prefix = heartbeat_key(run, session, 0).rpartition("/")[0] + "/"
    names = [item.key.removeprefix(prefix).removesuffix(".json") for item in store.list(prefix)]
    return max((int(name) for name in names if name.isdecimal()), default=None)


def _read(store: Store, key: str) -> Table | None:
    table = parse_record(store.get(key), key)
    return None if isinstance(table, Unreadable) else table


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
