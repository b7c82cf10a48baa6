"""One description of a table: its fields read it, show it, and make its schema and its documentation."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar

from spoteval.shape import ShapeError, Table

S = TypeVar("S")

_KIND, _SAYS, _LATER = "kind", "says", "later"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value: how it is read, how it is typed, and what a JSON Schema says of it.

    `noun` is what people call such values. `unit` ends the names of its fields and is no part of the key: `every_s`
    is typed as `every`. `means` is what None is typed as. `nested`: a table of its own, shown key by key.
    """

    read: Callable[[Table, str], object]
    typed: Callable[[Any], object]
    schema: Mapping[str, object]
    noun: str
    unit: str = ""
    means: str | None = None
    nested: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table. `later`: it is accepted, and has no effect in this version."""

    name: str
    field: str
    kind: Kind
    says: str
    later: bool
    required: bool
    default: object = None

    def text(self, value: object) -> str:
        """A value as a person reads it."""
        if value is None:
            return self.kind.means or "none"
        return shown(self.kind.typed(value))

    def pairs(self, value: object) -> Iterator[tuple[str, str]]:
        """Name and text of a value; of a nested one those of each key that is set."""
        typed = self.kind.typed(value) if self.kind.nested and value is not None else None
        if not isinstance(typed, Mapping) or not typed:
            yield self.name, self.text(value)
            return
        for name, part in typed.items():
            yield f"{self.name}.{name}", shown(part)


def key(kind: Kind, says: str, later: bool = False) -> Mapping[str, object]:
    """The description of a dataclass field, as its `metadata`."""
    return {_KIND: kind, _SAYS: says, _LATER: later}


def keys_of(settings: type) -> Iterator[Key]:
    """The keys of a settings class, in the order of its fields; fields without a description are none."""
    for field in fields(settings):
        kind = field.metadata.get(_KIND)
        if not isinstance(kind, Kind):
            continue
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        yield Key(
            name=field.name.removesuffix(kind.unit),
            field=field.name,
            kind=kind,
            says=str(field.metadata[_SAYS]),
            later=bool(field.metadata[_LATER]),
            required=default is MISSING,
            default=None if default is MISSING else default,
        )


def read(settings: type[S], table: Table, **others: object) -> S:
    """The settings in a table; `others` are fields that no key describes.

    Raises ShapeError for a wrong or missing value, and for a key that nobody knows.
    """
    values = dict(values_of(settings, table))
    refuse_unknown(table)
    return settings(**others, **values)


def settings_in(settings: type[S], table: Table) -> S:
    """The same from a table that has other keys too."""
    return settings(**dict(values_of(settings, table)))


def values_of(
    settings: type, table: Table, but: Container[str] = ()
) -> Iterator[tuple[str, object]]:
    """Field and value of each key that is typed, `but` for some; raises ShapeError, also for one that is missing."""
    keys = [item for item in keys_of(settings) if item.name not in but]
    there = {item.name for item in keys if table.has(item.name)}
    for item in keys:
        if item.name in there or item.required:
            yield item.field, item.kind.read(table, item.name)


def refuse_unknown(table: Table) -> None:
    """Raise ShapeError for the first key that nobody knows."""
    for error in table.unknown().values():
        raise ShapeError(error)


def shown(value: Any) -> str:
    """A typed value in one line: money as people write it, lists by blanks, what is empty as none."""
    match value:
        case bool():
            return "true" if value else "false"
        case {"amount": amount, "currency": currency}:
            per = f"/{value['per']}" if value.get("per") else ""
            return f"{amount:.2f} {currency}{per}"
        case {}:
            return " ".join(f"{name}={shown(item)}" for name, item in value.items()) or "none"
        case list():
            return " ".join(shown(item) for item in value) or "none"
        case _:
            return "none" if value in (None, "") else str(value)
