"""The state as a JSON object, and back. Marks come back as marks of this boot."""

from spoteval.clock import Mark, Now, carried, stamp
from spoteval.hold import hold_from
from spoteval.provider.contract import Price
from spoteval.shape import Reading, ShapeError, Table, Unreadable
from spoteval_agents.restarter.state import (
    Ask,
    Assignment,
    FileHold,
    KnownHold,
    Life,
    State,
    Stop,
    StopAsks,
    Unknown,
)

Record = dict[str, object]


def state_record(state: State, now: Now) -> Record:
    """The state as it is stored, with the moment of storing: another boot counts from there."""
    return {
        "saved": now.mark.record(),
        "synced": now.synced,
        "word": state.word,
        "since": _mark(state.since),
        "last_start": stamp(state.last_start) if state.last_start is not None else None,
        "life": _life(state.life) if state.life is not None else None,
        "stop": _stop(state.stop) if state.stop is not None else None,
        "ask": _ask(state.ask) if state.ask is not None else None,
        "failures": state.failures,
        "failing_since": _mark(state.failing_since),
        "failed_at": _mark(state.failed_at),
        "starts": state.starts,
        "spent": state.spent,
        "price": _price(state.price),
        "stop_asks": _stop_asks(state.stop_asks) if state.stop_asks is not None else None,
        "unknown": _unknown(state.unknown) if state.unknown is not None else None,
        "unheard": state.unheard,
        "file_hold": _file_hold(state.file_hold) if state.file_hold is not None else None,
        "holds": [_known(item) for item in state.holds],
        "run": _run(state.run) if state.run is not None else None,
    }


def state_from(table: Table, now: Now) -> Reading[State]:
    """The stored state; Unreadable where anything is missing or of the wrong kind."""
    try:
        saved = table.mark("saved")
        then = Now(saved.wall, saved.mono_s, saved.boot, table.flag("synced"))
        return _Reader(then, now).state(table)
    except ShapeError as error:
        return Unreadable(str(error))


def price_from(table: Table) -> Price:
    """A price that `Price.record` made; raises ShapeError."""
    return Price(
        amount=table.number("amount"),
        currency=table.text("currency"),
        per=table.text("per"),
        kind=table.text("kind"),
        as_of=table.moment("as_of"),
    )


def _mark(mark: Mark | None) -> Record | None:
    return mark.record() if mark is not None else None


def _price(price: Price | None) -> Record | None:
    return price.record() if price is not None else None


def _life(life: Life) -> Record:
    return {"since": life.since.record(), "price": _price(life.price)}


def _stop(stop: Stop) -> Record:
    return {"cause": stop.cause, "evidence": stop.evidence, "up_was_s": stop.up_was_s}


def _ask(ask: Ask) -> Record:
    return {
        "at": ask.at.record(),
        "reply": ask.reply,
        "refused": ask.refused,
        "price": _price(ask.price),
        "last_start": stamp(ask.last_start) if ask.last_start is not None else None,
        "boot_seq": ask.boot_seq,
        "recovered": ask.recovered,
    }


def _stop_asks(asks: StopAsks) -> Record:
    return {"at": asks.at.record(), "count": asks.count}


def _unknown(unknown: Unknown) -> Record:
    return {
        "since": unknown.since.record(),
        "error": unknown.error,
        "repeats": unknown.repeats,
        "reported": unknown.reported,
    }


def _file_hold(hold: FileHold) -> Record:
    return {"since": hold.since.record(), "reason": hold.reason}


def _known(item: KnownHold) -> Record:
    return {
        "hold": item.hold.record(),
        "since": item.since.record(),
        "mirrored": item.mirrored,
    }


def _run(run: Assignment) -> Record:
    return {
        "run": run.run,
        "generation": run.generation,
        "deadline": stamp(run.deadline) if run.deadline is not None else None,
        "over": run.over,
    }


class _Reader:
    """Reads the parts; every method raises ShapeError."""

    def __init__(self, saved: Now, now: Now) -> None:
        self._saved, self._now = saved, now

    def state(self, table: Table) -> State:
        below = {key: _below(table, key) for key in _PARTS}
        life, stop, ask = below["life"], below["stop"], below["ask"]
        stop_asks, unknown = below["stop_asks"], below["unknown"]
        file_hold, run, price = below["file_hold"], below["run"], below["price"]
        return State(
            word=table.maybe_text("word"),
            since=self._maybe_mark(table, "since"),
            last_start=table.maybe_moment("last_start"),
            life=self._life(life) if life is not None else None,
            stop=_stop_from(stop) if stop is not None else None,
            ask=self._ask(ask) if ask is not None else None,
            failures=table.whole("failures"),
            failing_since=self._maybe_mark(table, "failing_since"),
            failed_at=self._maybe_mark(table, "failed_at"),
            starts=table.whole("starts"),
            spent=table.number("spent"),
            price=price_from(price) if price is not None else None,
            stop_asks=self._stop_asks(stop_asks) if stop_asks is not None else None,
            unknown=self._unknown(unknown) if unknown is not None else None,
            unheard=table.whole("unheard"),
            file_hold=self._file_hold(file_hold) if file_hold is not None else None,
            holds=tuple(self._known(item) for item in table.tables("holds")),
            run=_run_from(run) if run is not None else None,
        )

    def _mark(self, table: Table, key: str) -> Mark:
        return carried(table.mark(key), self._saved, self._now)

    def _maybe_mark(self, table: Table, key: str) -> Mark | None:
        mark = table.maybe_mark(key)
        return carried(mark, self._saved, self._now) if mark is not None else None

    def _life(self, table: Table) -> Life:
        return Life(self._mark(table, "since"), _price_below(table))

    def _ask(self, table: Table) -> Ask:
        return Ask(
            at=self._mark(table, "at"),
            reply=table.maybe_text("reply"),
            refused=table.maybe_text("refused"),
            price=_price_below(table),
            last_start=table.maybe_moment("last_start"),
            boot_seq=table.whole("boot_seq"),
            recovered=table.flag("recovered"),
        )

    def _stop_asks(self, table: Table) -> StopAsks:
        return StopAsks(self._mark(table, "at"), table.whole("count"))

    def _unknown(self, table: Table) -> Unknown:
        return Unknown(
            self._mark(table, "since"),
            table.text("error"),
            table.whole("repeats"),
            table.flag("reported"),
        )

    def _file_hold(self, table: Table) -> FileHold:
        return FileHold(self._mark(table, "since"), table.text("reason"))

    def _known(self, table: Table) -> KnownHold:
        hold = hold_from(table.table("hold"))
        if isinstance(hold, Unreadable):
            raise ShapeError(hold.why)
        return KnownHold(hold, self._mark(table, "since"), table.flag("mirrored"))


_PARTS = ("life", "stop", "ask", "stop_asks", "unknown", "file_hold", "run", "price")


def _below(table: Table, key: str) -> Table | None:
    return table.table(key) if table.has(key) and table.values[key] is not None else None


def _price_below(table: Table) -> Price | None:
    below = _below(table, "price")
    return price_from(below) if below is not None else None


def _stop_from(table: Table) -> Stop:
    return Stop(table.text("cause"), table.text("evidence"), table.number("up_was_s"))


def _run_from(table: Table) -> Assignment:
    return Assignment(
        run=table.text("run"),
        generation=table.whole("generation"),
        deadline=table.maybe_moment("deadline"),
        over=table.maybe_text("over"),
    )
