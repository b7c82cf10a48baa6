"""The kinds of values that settings have."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from spoteval.clock import stamp
from spoteval.settings.keys import Kind, keys_of, read
from spoteval.settings.money import Money, amount_in, rate_in
from spoteval.shape import ShapeError, Table, size_bytes

_UNITS = (("h", 3600.0), ("min", 60.0))
_SIZES = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
_SHARE = re.compile(r"\d+(\.\d+)?%")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STRING: Mapping[str, object] = {"type": "string"}
_DURATION = {**_STRING, "pattern": r"^(0|\d+(\.\d+)?\s*(ms|s|min|h|d))$"}
_SIZE = {**_STRING, "pattern": r"^(0|\d+(\.\d+)?\s*(B|kB|KB|MB|GB|TB))$"}
_PATH = {**_STRING, "pattern": "^/"}
_RATE = {**_STRING, "pattern": r"^(0|\d+(\.\d+)?\s*(B|kB|KB|MB|GB|TB)/s)$"}


def same(value: Any) -> object:
    """A value that is typed as it is."""
    return value


def seconds(value: float) -> str:
    """A duration in the largest unit that divides it, from two of them on: 60s, 15min, 2h."""
    for unit, length in _UNITS:
        if value >= 2 * length and value % length == 0:
            return f"{value / length:g}{unit}"
    return f"{value:g}s"


def bytes_text(count: int) -> str:
    """A size with the largest unit that it reaches."""
    found = next((f"{count / size:g}{unit}" for unit, size in _SIZES if count >= size), None)
    return found or (f"{count}B" if count else "0")


def _text(table: Table, key: str) -> str:
    value = table.text(key)
    if not value.strip():
        raise table.error(key, "a text that is not empty")
    return value


def _name(table: Table, key: str) -> str:
    value = table.text(key)
    if not _NAME.fullmatch(value):
        raise table.error(
            key, "a name of letters, digits and -_. that begins with a letter or digit"
        )
    return value


def _texts(table: Table, key: str) -> tuple[str, ...]:
    """What a process can be given: its words end at a NUL."""
    words = table.texts(key)
    if any("\0" in word for word in words):
        raise table.error(key, "texts without NUL")
    return words


def _variables(table: Table, key: str) -> dict[str, str]:
    found, below = table.strings(key), table.table(key, {})
    for name, value in found.items():
        if not _VARIABLE.fullmatch(name):
            raise ShapeError(
                f'[{below.place}] "{name}": not the name of a variable (A-Z a-z 0-9 _)'
            )
        if "\0" in value:
            raise below.error(name, "a text without NUL")
    return found


def _positive(table: Table, key: str) -> float:
    value = table.duration_s(key)
    if value <= 0:
        raise table.error(key, "a duration above 0")
    return value


def _absolute(table: Table, key: str) -> Path:
    path = Path(_text(table, key))
    if not path.is_absolute():
        raise table.error(key, "an absolute path")
    return path


def _share(table: Table, key: str) -> float:
    text = table.text(key)
    if not _SHARE.fullmatch(text) or float(text[:-1]) > 100:
        raise table.error(key, 'a share such as "10%"')
    return float(text[:-1]) / 100


def _rate(table: Table, key: str) -> int:
    text = table.text(key)
    try:
        return size_bytes(text.removesuffix("/s")) if text == "0" or text.endswith("/s") else _no()
    except ValueError as error:
        raise table.error(key, 'a rate such as "5MB/s"') from error


def _no() -> int:
    raise ValueError


def _argv(table: Table, key: str) -> tuple[str, ...]:
    words = _texts(table, key)
    if not words or not words[0].strip():
        raise table.error(key, "a program and its arguments, as a list of strings")
    return words


def whole(least: int) -> Kind:
    """A whole number, at least `least`."""

    def found(table: Table, key: str) -> int:
        value = table.whole(key)
        if value < least:
            raise table.error(key, f"a whole number, {least} or more")
        return value

    return Kind(
        found, same, {"type": "integer", "minimum": least}, f"whole number, {least} or more"
    )


def choice(*allowed: str) -> Kind:
    """One of these words."""
    noun = " or ".join(f"`{word}`" for word in allowed)
    return Kind(lambda table, key: table.choice(key, allowed), same, {"enum": list(allowed)}, noun)


def choices(*allowed: str) -> Kind:
    """Some of these words, at least one, none twice."""
    says = f"a list of one or more of {' | '.join(allowed)}"

    def found(table: Table, key: str) -> tuple[str, ...]:
        words = table.texts(key) if isinstance(table.values.get(key), list) else ()
        if not words or set(words) - set(allowed) or len(set(words)) != len(words):
            raise table.error(key, says)
        return words

    schema = {
        "type": "array",
        "items": {"enum": list(allowed)},
        "minItems": 1,
        "uniqueItems": True,
    }
    return Kind(found, list, schema, "list of " + ", ".join(f"`{word}`" for word in allowed))


def or_word(word: str, kind: Kind) -> Kind:
    """A value of `kind`, or the word, which is read as None."""

    def found(table: Table, key: str) -> object:
        if table.values.get(key) == word:
            return None
        try:
            return kind.read(table, key)
        except ShapeError as error:
            raise ShapeError(f'{error}, or "{word}"') from error

    schema = {"anyOf": [kind.schema, {"const": word}]}
    return Kind(found, kind.typed, schema, f"{kind.noun}, or `{word}`", kind.unit, word)


def table_of(settings: type) -> Kind:
    """A table below, as a settings class describes it."""
    return Kind(
        lambda table, key: read(settings, table.table(key)),
        lambda value: _typed_table(settings, value),
        object_schema(settings),
        "table, see below",
        nested=True,
    )


def _typed_table(settings: type, value: object) -> dict[str, object]:
    found = ((item, getattr(value, item.field)) for item in keys_of(settings))
    return {item.name: item.kind.typed(part) for item, part in found if part is not None}


def object_schema(*settings: type) -> dict[str, object]:
    """The JSON Schema of a table that has the keys of these classes; the last one wins where two have the same."""
    keys = {item.name: item for one in settings for item in keys_of(one)}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: _property(item.kind, item) for name, item in keys.items()},
        "required": [name for name, item in keys.items() if item.required],
    }


def _property(kind: Kind, item: Any) -> dict[str, object]:
    default = {} if item.default is None else {"default": kind.typed(item.default)}
    return {**kind.schema, "description": item.says, **default}


def _money(read_money: Callable[[Table, str], Money], noun: str, *more: str) -> Kind:
    parts: dict[str, object] = {
        "amount": {"type": "number", "minimum": 0},
        "currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "per": {"const": "hour"},
        "as_of": {"type": "string", "format": "date"},
    }
    known = ("amount", "currency", *more)
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: parts[name] for name in known},
        "required": [name for name in known if name != "as_of"],
    }
    return Kind(read_money, Money.record, schema, noun)


def _pair(table: Table, key: str) -> tuple[int, int]:
    below = table.table(key)
    found = tuple(whole(1).read(below, name) for name in ("preemptions", "episodes"))
    for error in below.unknown().values():
        raise ShapeError(error)
    assert isinstance(found[0], int)
    assert isinstance(found[1], int)
    return found[0], found[1]


TEXT = Kind(_text, same, {**_STRING, "minLength": 1}, "text")
MAYBE_EMPTY = Kind(Table.text, same, _STRING, "text")
FLAG = Kind(Table.flag, same, {"type": "boolean"}, "`true` or `false`")
NAME = Kind(_name, same, {**_STRING, "pattern": f"^{_NAME.pattern}$"}, "text")
TEXTS = Kind(_texts, list, {"type": "array", "items": _STRING}, "list of texts")
VARIABLES = Kind(
    _variables,
    dict,
    {
        "type": "object",
        "propertyNames": {"pattern": f"^{_VARIABLE.pattern}$"},
        "additionalProperties": _STRING,
    },
    "table of texts",
    nested=True,
)
ARGV = Kind(
    _argv, list, {"type": "array", "items": _STRING, "minItems": 1}, "program and arguments"
)
DURATION = Kind(_positive, seconds, _DURATION, "duration", "_s")
DURATION_OR_0 = Kind(Table.duration_s, seconds, _DURATION, "duration or `0`", "_s")
SIZE = Kind(Table.size_bytes, bytes_text, _SIZE, "size", "_bytes")
RATE = Kind(
    _rate, lambda count: f"{bytes_text(count)}/s" if count else "0", _RATE, "rate", "_bytes_s"
)
SHARE = Kind(
    _share, lambda share: f"{share * 100:g}%", {**_STRING, "pattern": r"^\d+(\.\d+)?%$"}, "share"
)
MOMENT = Kind(Table.moment, stamp, {**_STRING, "format": "date-time"}, "time with its zone")
ABSOLUTE = Kind(_absolute, str, _PATH, "absolute path")
ABSOLUTE_TEXT = Kind(lambda table, key: str(_absolute(table, key)), same, _PATH, "absolute path")
SUM = _money(amount_in, "amount")
RATE_PER_HOUR = _money(rate_in, "amount per hour", "per", "as_of")
PREEMPTIONS_EPISODES = Kind(
    _pair,
    lambda pair: {"preemptions": pair[0], "episodes": pair[1]},
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {"type": "integer", "minimum": 1} for name in ("preemptions", "episodes")
        },
        "required": ["preemptions", "episodes"],
    },
    "{ preemptions, episodes }",
)
