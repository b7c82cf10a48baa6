"""Tables that both roles have, and the error that names file, table, key and value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spoteval.settings.keys import Kind, key
from spoteval.settings.kinds import TEXT, same
from spoteval.settings.money import Money
from spoteval.shape import ShapeError, Table
from spoteval.store.url import url_error

__all__ = ["STORE_URL", "ConfigError", "HostFile", "Money", "StoreSettings"]


class ConfigError(Exception):
    """The configuration is wrong: one line with file, table, key, value and what is allowed. Exit 2."""


@dataclass(frozen=True, slots=True)
class HostFile:
    """The tables of a host file with what variables put above them, and where they were read.

    `environment`: the variable of each place, such as `poll.every`, that was set by one.
    """

    path: Path
    role: str
    instance: str | None
    tables: Mapping[str, object]
    environment: Mapping[str, str] = field(default_factory=dict)

    def root(self) -> Table:
        """The whole file as one table."""
        return Table(self.tables, "")


def _url(table: Table, name: str) -> str:
    url = table.text(name)
    if (why := url_error(url)) is not None:
        raise ShapeError(f"[{table.place}] {name} {why}")
    return url


STORE_URL = Kind(_url, same, {"type": "string", "pattern": "^file:///"}, "URL")


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where results, holds and facts go: the same on both hosts."""

    url: str = field(metadata=key(STORE_URL, "`file:///path`"))
    credential: str | None = field(
        default=None, metadata=key(TEXT, "file in the credentials directory", later=True)
    )
    endpoint_url: str | None = field(
        default=None, metadata=key(TEXT, "of an S3 service other than AWS", later=True)
    )
    region: str | None = field(default=None, metadata=key(TEXT, "of the bucket", later=True))
