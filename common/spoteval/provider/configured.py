"""A price that a person looked up and typed, with the day on which they did."""

from datetime import UTC, datetime

from spoteval.provider.contract import Price
from spoteval.settings.keys import Kind
from spoteval.settings.kinds import RATE_PER_HOUR
from spoteval.settings.money import Money
from spoteval.shape import Table


def configured(price: Money) -> Price:
    """As the restarter and `check` show it: `configured`, and from that day."""
    day = datetime.fromisoformat(price.as_of or "").replace(tzinfo=UTC)
    return Price(price.amount, price.currency, price.per or "hour", "configured", day)


def _dated(table: Table, name: str) -> Money:
    """Raises ShapeError without the day: nobody knows how old such a price is."""
    found = RATE_PER_HOUR.read(table, name)
    assert isinstance(found, Money)
    if found.as_of is None:
        raise table.table(name).error("as_of", "the day on which it was looked up")
    return found


DATED_RATE = Kind(
    _dated, lambda value: value.record(), RATE_PER_HOUR.schema, "amount per hour with its day"
)
