"""Which containers a request may have removed: it comes from a user with few rights, and root obeys it. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

from spoteval.control.containers import Removal
from spoteval.machine.containers import Container
from spoteval.shape import Reading, ShapeError, Table, Unreadable

KEPT_LABEL = "spoteval.server"
"""A container that carries it is never removed."""
MOST_FILTERS = 32
_LEAST_SAID = 3
_NAME = re.compile(r"name=([A-Za-z0-9_.*-]{1,200})")
_LABEL = re.compile(r"label=([A-Za-z0-9_./-]{1,200})(?:=([A-Za-z0-9_./:@*-]{1,200}))?")


@dataclass(frozen=True, slots=True)
class Servers:
    """What belongs to the model servers of this host."""

    ports: frozenset[int] = frozenset()
    words: frozenset[str] = frozenset()
    """Their names, and every word of the commands of their units."""


def request_of(table: Table) -> Reading[Removal]:
    """The request, once it asks for nothing but containers by pattern; Unreadable says what else."""
    try:
        filters, since = table.texts("filters"), table.moment("since")
        by = table.text("by")
    except ShapeError as error:
        return Unreadable(str(error))
    if not 0 < len(filters) <= MOST_FILTERS:
        return Unreadable(f"{len(filters)} filters: must be 1 to {MOST_FILTERS}")
    for text in filters:
        if (why := filter_error(text)) is not None:
            return Unreadable(why)
    return Removal(filters, since, by)


def filter_error(text: str) -> str | None:
    """Why this is no filter that is obeyed, or None."""
    match = _NAME.fullmatch(text) or _LABEL.fullmatch(text)
    if match is None:
        return f'filter "{text}": must be name=PATTERN, label=KEY or label=KEY=PATTERN'
    if len((match[match.lastindex or 1] or "").replace("*", "")) < _LEAST_SAID:
        return f'filter "{text}": matches almost anything (at least {_LEAST_SAID} letters beside *)'
    return None


def chosen(
    containers: Iterable[Container], removal: Removal, servers: Servers, booted: datetime
) -> list[Container]:
    """Those that match, began in this life and not before the run did, and are no server's."""
    since = max(removal.since, booted)
    return [
        one
        for one in containers
        if one.created >= since and _matches(one, removal.filters) and not _serves(one, servers)
    ]


def _matches(one: Container, filters: Sequence[str]) -> bool:
    return any(_is(one, text) for text in filters)


def _is(one: Container, text: str) -> bool:
    kind, _, rest = text.partition("=")
    if kind == "name":
        return fnmatchcase(one.name, rest)
    key, asked, pattern = rest.partition("=")
    value = one.labels.get(key)
    return value is not None and (not asked or fnmatchcase(value, pattern))


def _serves(one: Container, servers: Servers) -> bool:
    named = one.name in servers.words or one.id in servers.words
    return named or KEPT_LABEL in one.labels or bool(one.ports & servers.ports)
