"""The state as a JSON object, and back. Marks come back as marks of this boot."""

from dataclasses import fields
from datetime import datetime

from spoteval.clock import Mark, Now, stamp
from spoteval.hold import Hold
from spoteval.provider.contract import Price
from spoteval.run import StopRules
from spoteval.shape import Reading, ShapeError, Table, Unreadable
from spoteval_agents.restarter.state import Counts, State
from spoteval_agents.restarter.state_parts import PartReader, maybe_price

Record = dict[str, object]
_OWN_RECORD = (Mark, Price, Hold, StopRules)


def state_record(state: State, now: Now) -> Record:
    """The state as it is stored, with the moment of storing: another boot counts from there."""
    return {"saved": now.mark.record(), "synced": now.synced, **_fields(state)}


def state_from(table: Table, now: Now) -> Reading[State]:
    """The stored state; Unreadable where what every version writes is missing, or anything is of the wrong kind."""
    try:
        saved = table.mark("saved")
        then = Now(saved.wall, saved.mono_s, saved.boot, table.flag("synced"))
        return _state(table, PartReader(then, now))
    except ShapeError as error:
        return Unreadable(str(error))


def _plain(value: object) -> object:
    if isinstance(value, _OWN_RECORD):
        return value.record()
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return _fields(value) if hasattr(value, "__dataclass_fields__") else value


def _fields(value: object) -> Record:
    names = (field.name for field in fields(value))  # type: ignore[arg-type]
    return {name: _plain(getattr(value, name)) for name in names}


def _state(table: Table, part: PartReader) -> State:
    return State(
        word=table.maybe_text("word"),
        since=part.maybe_mark(table, "since"),
        last_start=table.maybe_moment("last_start"),
        life=part.below(table, "life", part.life),
        stop=part.below(table, "stop", part.stop),
        ask=part.below(table, "ask", part.ask),
        failures=table.whole("failures"),
        failing_since=part.maybe_mark(table, "failing_since"),
        failed_at=part.maybe_mark(table, "failed_at"),
        refusal=part.below(table, "refusal", part.refusal),
        advice=table.maybe_text("advice"),
        starts=table.whole("starts"),
        spent=table.number("spent"),
        price=maybe_price(table),
        stop_asks=part.below(table, "stop_asks", part.stop_asks),
        unknown=part.below(table, "unknown", part.unknown),
        absent=part.below(table, "absent", part.absent),
        away=part.below(table, "away", part.away),
        unheard=table.whole("unheard"),
        silent=part.maybe_mark(table, "silent"),
        file_hold=part.below(table, "file_hold", part.file_hold),
        holds=tuple(part.known(item) for item in table.tables("holds")),
        run=part.below(table, "run", part.run),
        over_since=part.maybe_mark(table, "over_since"),
        keep=part.below(table, "keep", part.keep),
        owner=part.below(table, "owner", part.owner),
        drill=part.below(table, "drill", part.drill),
        counts=_counts(table.table("counts", {})),
        told=table.texts("told", ()),
        waived=table.texts("waived", ()),
    )


def _counts(table: Table) -> Counts:
    whole = (field.name for field in fields(Counts) if field.name != "spent_from")
    numbers = {name: table.whole(name, 0) for name in whole}
    return Counts(**numbers, spent_from=table.number("spent_from", 0.0))
