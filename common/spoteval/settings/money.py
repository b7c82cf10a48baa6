"""Amounts of money, with their currency and, for a rate, its unit of time."""

from dataclasses import dataclass
from datetime import date, datetime

from spoteval.settings.keys import refuse_unknown
from spoteval.shape import Table

HOUR = "hour"


@dataclass(frozen=True, slots=True)
class Money:
    """An amount; `as_of` is the day on which a price was looked up."""

    amount: float
    currency: str
    per: str | None = None
    as_of: str | None = None

    def record(self) -> dict[str, object]:
        """As it is typed, and as it is stored."""
        pairs = {
            "amount": self.amount,
            "currency": self.currency,
            "per": self.per,
            "as_of": self.as_of,
        }
        return {name: value for name, value in pairs.items() if value is not None}


def amount_in(table: Table, key: str) -> Money:
    """A sum such as { amount = 600, currency = "USD" }; raises ShapeError, also for one below 0."""
    below = table.table(key)
    value = Money(_amount(below), _currency(below))
    refuse_unknown(below)
    return value


def rate_in(table: Table, key: str) -> Money:
    """A rate such as { amount = 14.0, currency = "USD", per = "hour" }; `as_of` may say from which day it is."""
    below = table.table(key)
    as_of = _day(below) if below.has("as_of") else None
    value = Money(_amount(below), _currency(below), below.choice("per", (HOUR,)), as_of)
    refuse_unknown(below)
    return value


def _amount(table: Table) -> float:
    amount = table.number("amount")
    if amount < 0:
        raise table.error("amount", "0 or more")
    return amount


def _currency(table: Table) -> str:
    """Compared letter by letter with what a provider says, so that "usd" would match nothing."""
    text = table.text("currency")
    if not (len(text) == 3 and text.isascii() and text.isalpha() and text.isupper()):
        raise table.error("currency", 'three capital letters such as "USD"')
    return text


def _day(table: Table) -> str:
    found = table.values["as_of"]
    if isinstance(found, date) and not isinstance(found, datetime):
        return found.isoformat()
    try:
        return date.fromisoformat(table.text("as_of")).isoformat()
    except ValueError as error:
        raise table.error("as_of", "a day such as 2026-11-20") from error
