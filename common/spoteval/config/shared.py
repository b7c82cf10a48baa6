"""Tables that both roles have, and the error that names file, table, key and value."""

import re
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


def _endpoint(table: Table, name: str) -> str:
    url, allowed = table.text(name), 'like "https://s3.example.org", without path or key'
    if not _ENDPOINT.fullmatch(url):
        if "@" in url:  # a key typed into it must not be read in a log
            raise ShapeError(f"[{table.place}] {name}: must be {allowed}")
        raise table.error(name, allowed)
    return url.rstrip("/")


_ENDPOINT = re.compile(r"https?://(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+)(:\d+)?/?")
STORE_URL = Kind(_url, same, {"type": "string", "pattern": "^(file:///|s3://)"}, "URL")
ENDPOINT = Kind(_endpoint, same, {"type": "string", "pattern": f"^{_ENDPOINT.pattern}$"}, "URL")


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where results, holds and facts go: the same on both hosts."""

    url: str = field(metadata=key(STORE_URL, "`s3://bucket/prefix` or `file:///path`"))
    credential: str | None = field(
        default=None,
        metadata=key(
            TEXT, "file in the credentials directory; without it the machine's own identity"
        ),
    )
    endpoint_url: str | None = field(
        default=None, metadata=key(ENDPOINT, "of an S3 service other than AWS")
    )
    region: str | None = field(default=None, metadata=key(TEXT, "of the bucket"))
