"""The parts of the stored state, read back. Every method raises ShapeError."""

from collections.abc import Callable
from typing import TypeVar, get_args

from spoteval.clock import Mark, Now, carried
from spoteval.hold import hold_from
from spoteval.provider.contract import ErrorKind, Price
from spoteval.run import StopRules, rules_from
from spoteval.shape import ShapeError, Table, Unreadable
from spoteval_agents.restarter.state import (
    Absent,
    Ask,
    Assignment,
    Away,
    Drill,
    FileHold,
    Keep,
    KnownHold,
    Life,
    Ownership,
    Refusal,
    Stop,
    StopAsks,
    Unknown,
)

P = TypeVar("P")


def price_from(table: Table) -> Price:
    """A price that `Price.record` made."""
    return Price(
        amount=table.number("amount"),
        currency=table.text("currency"),
        per=table.text("per"),
        kind=table.text("kind"),
        as_of=table.moment("as_of"),
    )


def maybe_price(table: Table) -> Price | None:
    """The price below, or None."""
    below = table_below(table, "price")
    return price_from(below) if below is not None else None


def table_below(table: Table, key: str) -> Table | None:
    """The table below, or None where the key is absent or null."""
    return table.table(key) if table.has(key) and table.values[key] is not None else None


class PartReader:
    """Reads parts that were saved then as they are now."""

    def __init__(self, saved: Now, now: Now) -> None:
        self._saved, self._now = saved, now

    def below(self, table: Table, key: str, read: Callable[[Table], P]) -> P | None:
        """The part below, or None."""
        found = table_below(table, key)
        return read(found) if found is not None else None

    def mark(self, table: Table, key: str) -> Mark:
        """A mark, as one of this boot."""
        return carried(table.mark(key), self._saved, self._now)

    def maybe_mark(self, table: Table, key: str) -> Mark | None:
        """A mark, or None."""
        mark = table.maybe_mark(key)
        return carried(mark, self._saved, self._now) if mark is not None else None

    def life(self, table: Table) -> Life:
        """A life that goes on."""
        return Life(
            self.mark(table, "since"),
            maybe_price(table),
            table.whole("boot_seq", 0),
            _maybe_whole(table, "boot"),
        )

    def stop(self, table: Table) -> Stop:
        """The last stop."""
        return Stop(
            cause=table.text("cause"),
            evidence=table.text("evidence"),
            up_was_s=table.number("up_was_s"),
            booted=maybe_flag(table, "booted"),
            healthy=maybe_flag(table, "healthy"),
            held=table.flag("held", default=False),
            last_start=table.maybe_moment("last_start"),
        )

    def ask(self, table: Table) -> Ask:
        """An open request."""
        return Ask(
            at=self.mark(table, "at"),
            reply=table.maybe_text("reply"),
            refused=table.maybe_text("refused"),
            price=maybe_price(table),
            last_start=table.maybe_moment("last_start"),
            boot_seq=table.whole("boot_seq"),
            recovered=table.flag("recovered"),
            still=table.whole("still", 0),
        )

    def refusal(self, table: Table) -> Refusal:
        """The last refusal."""
        return Refusal(self.mark(table, "at"), table.text("kind"))

    def stop_asks(self, table: Table) -> StopAsks:
        """Stop requests."""
        return StopAsks(self.mark(table, "at"), table.whole("count"))

    def unknown(self, table: Table) -> Unknown:
        """A silence of the provider."""
        kind = table.choice("kind", get_args(ErrorKind), "unknown")
        return Unknown(
            since=self.mark(table, "since"),
            error=table.text("error"),
            repeats=table.whole("repeats"),
            kind=kind,  # type: ignore[arg-type]  # a choice of the kinds themselves
        )

    def absent(self, table: Table) -> Absent:
        """An absence."""
        return Absent(self.mark(table, "since"), table.whole("polls"))

    def away(self, table: Table) -> Away:
        """A silence of the store."""
        return Away(self.mark(table, "since"), table.text("error"))

    def file_hold(self, table: Table) -> FileHold:
        """The touch file."""
        return FileHold(self.mark(table, "since"), table.text("reason"))

    def known(self, table: Table) -> KnownHold:
        """A known hold."""
        hold = hold_from(table.table("hold"))
        if isinstance(hold, Unreadable):
            raise ShapeError(hold.why)
        return KnownHold(
            hold,
            self.mark(table, "since"),
            mirrored=table.flag("mirrored"),
            placed=table.flag("placed", default=True),
            local=table.flag("local", default=False),
        )

    def keep(self, table: Table) -> Keep:
        """The newest keep fact."""
        return Keep(table.text("name"), self.mark(table, "since"))

    def owner(self, table: Table) -> Ownership:
        """Who serves it."""
        return Ownership(table.text("identity"), table.whole("polls"))

    def drill(self, table: Table) -> Drill:
        """The announced drill."""
        return Drill(table.text("run"), self.mark(table, "since"))

    def run(self, table: Table) -> Assignment:
        """The assignment."""
        rules = table_below(table, "rules")
        return Assignment(
            run=table.text("run"),
            generation=table.whole("generation"),
            deadline=table.maybe_moment("deadline"),
            over=table.maybe_text("over"),
            rules=rules_from(rules) if rules is not None else StopRules(),
            recorded=table.flag("recorded", default=False),
            obeys=table.maybe_text("obeys"),
        )


def maybe_flag(table: Table, key: str) -> bool | None:
    """true, false, or None where the key is absent or null."""
    return table.flag(key) if table.has(key) and table.values[key] is not None else None


def _maybe_whole(table: Table, key: str) -> int | None:
    return table.whole(key) if table.has(key) and table.values[key] is not None else None
