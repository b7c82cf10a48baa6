"""Tables that both roles have, and the error that names file, table, key and value."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spoteval.shape import ShapeError, Table
from spoteval.store.url import url_error

PROVIDERS = ("local",)


class ConfigError(Exception):
    """The configuration is wrong: one line with file, table, key, value and what is allowed. Exit 2."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where results, holds and facts go."""

    url: str
    credential: str | None = None
    endpoint_url: str | None = None
    region: str | None = None


@dataclass(frozen=True, slots=True)
class Money:
    """An amount with its currency and, for a rate, its unit of time."""

    amount: float
    currency: str
    per: str | None = None
    as_of: str | None = None


@dataclass(frozen=True, slots=True)
class HostFile:
    """The raw tables of a host file and where they were read."""

    path: Path
    role: str
    instance: str | None
    tables: Mapping[str, object]

    def root(self) -> Table:
        """The whole file as one table."""
        return Table(self.tables, "")


def store_settings(root: Table) -> StoreSettings:
    """`[store]`; raises ShapeError."""
    table = root.table("store")
    url = table.text("url")
    if (why := url_error(url)) is not None:
        raise ShapeError(f"[store] url {why}")
    settings = StoreSettings(
        url=url,
        credential=table.maybe_text("credential"),
        endpoint_url=table.maybe_text("endpoint_url"),
        region=table.maybe_text("region"),
    )
    refuse_unknown(table)
    return settings


def money(table: Table, key: str) -> Money | None:
    """A price such as { amount = 14.0, currency = "USD", per = "hour" }, or None where it is not set."""
    if not table.has(key):
        return None
    below = table.table(key)
    as_of = str(below.values["as_of"]) if below.has("as_of") else None
    value = Money(below.number("amount"), below.text("currency"), below.maybe_text("per"), as_of)
    refuse_unknown(below)
    return value


def refuse_unknown(table: Table) -> None:
    """Raise ShapeError for the first key that nobody knows."""
    for error in table.unknown():
        raise ShapeError(error)
