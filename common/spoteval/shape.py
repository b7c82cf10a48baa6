"""One typed reader for TOML and JSON: values with their place, units, and errors that say what is allowed."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias, TypeVar

from spoteval.clock import Mark, mark_from, parse_stamp

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A value that could not be read, and why. It is never a default and never false."""

    why: str


Reading: TypeAlias = T | Unreadable

_DURATION_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE_UNITS = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_A_DURATION = 'a duration such as "60s", "15min" or "2h"'
_A_TIME = "a time with its zone such as 2026-12-04T08:00:00Z"
_A_SIZE = 'a size such as "64MB"'
_LARGEST = 1e300
_QUOTED = 200
_DIGITS = 15  # more of them are no longer exact, and hundreds are infinite
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


class ShapeError(ValueError):
    """A value of the wrong kind. The text names table, key, value and what is allowed, in one line."""


class _Required:
    pass


REQUIRED = _Required()


def duration_s(text: str) -> float:
    """Seconds of a duration such as "250ms", "60s", "15min", "2h", "1d"; raises ValueError otherwise."""
    return _with_unit(text, _DURATION_UNITS, _A_DURATION)


def size_bytes(text: str) -> int:
    """Bytes of a size such as "64MB" or "50GB" (powers of ten), or "0"; raises ValueError otherwise."""
    return int(_with_unit(text, _SIZE_UNITS, _A_SIZE))


def _with_unit(text: str, units: Mapping[str, float], allowed: str) -> float:
    found = _NUMBER.fullmatch(text.strip())
    if text.strip() == "0":
        return 0.0
    if found is None or found[2] not in units or len(found[1]) > _DIGITS:
        raise ValueError(f"{_quoted(text)} is not {allowed}")
    return float(found[1]) * units[found[2]]


def _finite(value: float) -> bool:
    """TOML and Python's JSON know nan and inf: no comparison with them means anything."""
    return -_LARGEST < value < _LARGEST


@dataclass(frozen=True)
class Table:
    """A mapping with the name of its place. Every getter raises ShapeError for a value of the wrong kind.

    Getters remember which keys were asked for, so that `refuse_unknown` can name what nobody knows.
    """

    values: Mapping[str, object]
    place: str = ""
    _asked: set[str] | None = None

    def __post_init__(self) -> None:
        if self._asked is None:
            object.__setattr__(self, "_asked", set())

    def has(self, key: str) -> bool:
        """Whether the key is there at all."""
        self._known().add(key)
        return key in self.values

    def text(self, key: str, default: str | _Required = REQUIRED) -> str:
        """A string."""
        return self._typed(key, str, "a string", default)

    def flag(self, key: str, default: bool | _Required = REQUIRED) -> bool:
        """true or false."""
        return self._typed(key, bool, "true or false", default)

    def whole(self, key: str, default: int | _Required = REQUIRED) -> int:
        """A whole number."""
        value = self._typed(key, int, "a whole number", default)
        if isinstance(value, bool):
            raise self.error(key, "a whole number")
        return value

    def number(self, key: str, default: float | _Required = REQUIRED) -> float:
        """A number, whole or not."""
        value = self._raw(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
            raise self.error(key, "a number")
        return float(value)

    def texts(self, key: str, default: Sequence[str] | _Required = REQUIRED) -> tuple[str, ...]:
        """A list of strings."""
        value = self._raw(key, default)
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise self.error(key, "a list of strings")
        return tuple(str(item) for item in value)

    def choice(self, key: str, allowed: Sequence[str], default: str | _Required = REQUIRED) -> str:
        """One of `allowed`."""
        value = self._raw(key, default)
        if value not in allowed:
            raise self.error(key, " | ".join(allowed))
        return str(value)

    def duration_s(self, key: str, default: str | _Required = REQUIRED) -> float:
        """Seconds of a duration with a unit."""
        return self._parsed(key, default, duration_s, _A_DURATION)

    def size_bytes(self, key: str, default: str | _Required = REQUIRED) -> int:
        """Bytes of a size with a unit."""
        return int(self._parsed(key, default, size_bytes, _A_SIZE))

    def moment(self, key: str) -> datetime:
        """A time with its zone: a TOML date-time or RFC 3339 text."""
        value = self._raw(key, REQUIRED)
        if isinstance(value, datetime) and value.tzinfo is not None:
            return value.astimezone(UTC)
        try:
            return parse_stamp(self.text(key))
        except (ShapeError, ValueError) as error:
            raise self.error(key, _A_TIME) from error

    def maybe_moment(self, key: str) -> datetime | None:
        """A time, or None where the key is absent or null."""
        return self.moment(key) if self._there(key) else None

    def maybe_text(self, key: str) -> str | None:
        """A string, or None where the key is absent or null."""
        return self.text(key) if self._there(key) else None

    def maybe_number(self, key: str) -> float | None:
        """A number, or None where the key is absent or null."""
        return self.number(key) if self._there(key) else None

    def mark(self, key: str) -> Mark:
        """A stored mark."""
        try:
            return mark_from(self.table(key).values)
        except (KeyError, TypeError, ValueError) as error:
            raise self.error(key, "a mark {wall, mono_s, boot}") from error

    def maybe_mark(self, key: str) -> Mark | None:
        """A stored mark, or None where the key is absent or null."""
        return self.mark(key) if self._there(key) else None

    def table(self, key: str, default: Mapping[str, object] | _Required = REQUIRED) -> "Table":
        """A table below this one."""
        value = self._raw(key, default)
        if not isinstance(value, Mapping):
            raise self.error(key, "a table")
        return Table(value, f"{self.place}.{key}" if self.place else key)

    def tables(self, key: str) -> "tuple[Table, ...]":
        """A list of tables; empty where the key is absent."""
        value = self._raw(key, ())
        if not isinstance(value, list | tuple):
            raise self.error(key, "a list of tables")
        return tuple(self._item(key, index, item) for index, item in enumerate(value))

    def strings(self, key: str) -> dict[str, str]:
        """A table whose values are strings; empty where the key is absent."""
        below = self.table(key, {})
        return {name: below.text(name) for name in below.values}

    def each(self, key: str) -> "Iterator[tuple[str, Table]]":
        """The named tables below `key`, in order; none where the key is absent."""
        below = self.table(key, {})
        for name in below.values:
            yield name, below.table(name)

    def unknown(self) -> dict[str, str]:
        """The keys that nobody asked for, each with its error of one line, which names the nearest known one."""
        known = self._known()
        return {key: self._unknown_key(key, known) for key in self.values if key not in known}

    def error(self, key: str, allowed: str) -> ShapeError:
        """The error of a value: place, key, value as written, what is allowed."""
        if key not in self.values:
            return ShapeError(f"[{self.place}] {key}: missing (allowed: {allowed})")
        return ShapeError(f"[{self.place}] {key} {_quoted(self.values[key])}: must be {allowed}")

    def _unknown_key(self, key: str, known: set[str]) -> str:
        from difflib import get_close_matches  # 0.2 MB that an agent with a right file never needs

        near = get_close_matches(key, sorted(known), n=1)
        hint = f' (did you mean "{near[0]}"?)' if near else f" (known: {', '.join(sorted(known))})"
        return f"[{self.place}] {key}: unknown key{hint}"

    def _known(self) -> set[str]:
        assert self._asked is not None
        return self._asked

    def _there(self, key: str) -> bool:
        return self.has(key) and self.values[key] is not None

    def _raw(self, key: str, default: object) -> object:
        if self.has(key):
            return self.values[key]
        if isinstance(default, _Required):
            raise self._missing(key)
        return default

    def _missing(self, key: str) -> ShapeError:
        """A key that is almost there was mistyped: that is what the person needs to hear."""
        unasked = [other for other in self.values if other not in self._known()]
        near = [other for other in unasked if _is_near(key, other)]
        if near:
            return ShapeError(f'[{self.place}] {near[0]}: unknown key (did you mean "{key}"?)')
        return ShapeError(f"[{self.place}] {key}: missing")

    def _typed(self, key: str, kind: type[T], allowed: str, default: T | _Required) -> T:
        value = self._raw(key, default)
        if not isinstance(value, kind):
            raise self.error(key, allowed)
        return value

    def _parsed(self, key: str, default: object, parse: Callable[[str], T], allowed: str) -> T:
        value = self._raw(key, default)
        if not isinstance(value, str):
            raise self.error(key, allowed)
        try:
            return parse(value)
        except ValueError as error:
            raise ShapeError(f"[{self.place}] {key} {error}") from error

    def _item(self, key: str, index: int, item: object) -> "Table":
        place = f"{self.place}.{key}[{index}]" if self.place else f"{key}[{index}]"
        if not isinstance(item, Mapping):
            raise ShapeError(f"[{place}]: must be a table")
        return Table(item, place)


def _quoted(value: object) -> str:
    """The value in one line, as TOML has it."""
    match value:
        case bool():
            text = str(value).lower()
        case str():
            text = f'"{"".join(char if char.isprintable() else "?" for char in value)}"'
        case list():
            text = f"[{', '.join(_quoted(item) for item in value)}]"
        case _:
            text = str(value)
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"


def _is_near(key: str, other: str) -> bool:
    """Whether one letter more, less or other, or two in the wrong order, makes one of the other.

    Not by difflib: a damaged record must not make an agent import it while its disk fails.
    """
    whole = max(len(key), len(other))
    begin = _same(key, other)
    end = _same(key[begin:][::-1], other[begin:][::-1])
    if begin + end >= whole - 1:
        return True
    swapped = key[begin : begin + 2] == other[begin : begin + 2][::-1]
    return len(key) == len(other) and begin + end >= whole - 2 and swapped


def _same(one: str, other: str) -> int:
    """How many letters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))
