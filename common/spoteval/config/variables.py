"""Variables that stand above the host file: `SPOTEVAL_POLL__EVERY=5s` for `[poll] every`."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PREFIX, BETWEEN = "SPOTEVAL_", "__"
STORE = "SPOTEVAL_STORE"
_NOT_BY_VARIABLE = {
    "run": "a run is frozen by `run new` and changed by `run set`",
    "server": "there may be several",
    "instance": "there may be several",
}


class NotByVariable(Exception):
    """A variable of a table that variables do not reach. The text names both, in one line."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable, the table and key that it sets, and its text."""

    name: str
    table: str
    key: str
    text: str

    @property
    def place(self) -> str:
        """Table and key."""
        return f"{self.table}.{self.key}"


def set_by(environment: Mapping[str, str]) -> list[Variable]:
    """The variables that set a key, by name. `SPOTEVAL_STORE` is short for `SPOTEVAL_STORE__URL`."""
    found = []
    for name in sorted(environment):
        table, between, key = name.removeprefix(PREFIX).lower().partition(BETWEEN)
        if name == STORE:
            found.append(Variable(name, "store", "url", environment[name]))
        elif name.startswith(PREFIX) and between:
            found.append(Variable(name, table, key, environment[name]))
    return [item for item in found if item.text]


def overlaid(tables: Mapping[str, object], variables: Sequence[Variable]) -> dict[str, object]:
    """The tables with these keys set; raises NotByVariable for a table that variables do not reach."""
    changed = dict(tables)
    for item in variables:
        if (why := _NOT_BY_VARIABLE.get(item.table)) is not None:
            raise NotByVariable(f"{item.name}: [{item.table}] is not set by variables ({why})")
        below = changed.get(item.table, {})
        if isinstance(below, Mapping):
            changed[item.table] = {**below, item.key: value_of(item.text)}
    return changed


def value_of(text: str) -> object:
    """A number, a list or a table as TOML has it; all else is text, which needs no quotes here."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
