"""What `run set` may change in a frozen run, and what it never may."""

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from spoteval.clock import Now
from spoteval.config.grant import Grant, looser
from spoteval.config.run import RunSettings
from spoteval.control.refused import Refused
from spoteval.run import Change, RunPlan, RunRecord, StopRules
from spoteval.settings.keys import Key, keys_of, shown
from spoteval.shape import ShapeError, Table

NONE = "none"
_RULES = "stop_rules."
_MONEY = re.compile(r"(\d+(?:\.\d+)?) ?([A-Z]{3})(?:/(?:h|hour))?")
_PAIR = re.compile(r"(\d+)/(\d+)")
_MEASURED = "it is part of what is measured"
_FROZEN: Mapping[str, str] = {
    "harness": "another harness is another evaluation",
    "args": _MEASURED,
    "executable": _MEASURED,
    "directory": _MEASURED,
    "env": _MEASURED,
    "secret_env": _MEASURED,
    "user": _MEASURED,
    "containers": _MEASURED,
    "preflight": _MEASURED,
    "preflight_within": _MEASURED,
    "label": "what a run counts as is declared before it begins",
    "settlement": "what becomes of cut attempts is declared before any is cut",
    "errors": "the policy is the same for every episode, also for those that ended before",
    "expected": "what is intended is frozen at the first start",
    "max_attempts": "the budget of an episode is the same for all",
}
"""Settings that are never changed, and why."""


@dataclass(frozen=True, slots=True)
class _Setting:
    """One setting that may be changed: how it is typed, where it stands in a plan, whether it can be absent."""

    name: str
    key: Key
    rule: bool
    optional: bool

    def of(self, plan: RunPlan) -> object:
        """Its value."""
        return getattr(plan.stop_rules if self.rule else plan, self.key.field)

    def put(self, plan: RunPlan, value: object) -> RunPlan:
        """The plan with another value."""
        change: Mapping[str, object] = {self.key.field: value}
        put: Callable[..., RunPlan] = replace
        if not self.rule:
            return put(plan, **change)
        rules: Callable[..., StopRules] = replace
        return replace(plan, stop_rules=rules(plan.stop_rules, **change))

    def text(self, value: object) -> str:
        """A value as people read it."""
        return NONE if value is None else shown(self.key.kind.typed(value))


def changed(
    record: RunRecord, words: Sequence[str], by: str, reason: str, now: Now
) -> RunRecord | None:
    """The next generation of the record, None where these `KEY=VALUE` change nothing.

    Raises Refused for what is frozen, ShapeError for what is no setting or no value of it.
    """
    plan, pairs = record.plan, dict[str, tuple[str, str]]()
    for word in words:
        setting, value = _parsed(record, word, now.wall)
        before, after = setting.text(setting.of(plan)), setting.text(value)
        if before != after:
            pairs[setting.name] = (pairs.get(setting.name, (before, ""))[0], after)
            plan = setting.put(plan, value)
    if not pairs:
        return None
    change = Change(record.generation + 1, now.wall, by, reason, pairs)
    return replace(
        record, generation=change.generation, plan=plan, changes=(*record.changes, change)
    )


def refuse_looser(words: Sequence[str], grant: Grant) -> None:
    """Raise Refused where one of these `KEY=VALUE` is a limit that loosens the grant; ShapeError for what is none of
    its values. Only a host that knows the grant can say so."""
    rules = StopRules()
    for word in words:
        name, _, text = word.partition("=")
        setting = _rules().get(name.removeprefix(_RULES))
        if setting is not None and text:
            found: Callable[..., StopRules] = replace
            rules = found(rules, **{setting.key.field: _read(setting, text)})
    if lines := looser(grant, rules):
        raise Refused("; ".join(lines))


def names() -> tuple[str, ...]:
    """The settings that may be changed, as they are typed."""
    return (*(setting.name for setting in _settings()), "order")


def _parsed(record: RunRecord, word: str, now: datetime) -> tuple[_Setting, object]:
    name, equals, text = word.partition("=")
    if not equals or not name or not text:
        raise ShapeError(f'"{word}": must be KEY=VALUE ({", ".join(names())})')
    if name in _FROZEN:
        raise Refused(
            f"{name} cannot be changed: {_FROZEN[name]} (spoteval run new NAME --like {record.name})"
        )
    if name == "order":
        raise Refused(
            f'order "{text}": no harness of this version can order its episodes (it is "harness")'
        )
    setting = _named(name)
    value = _read(setting, text)
    if name == "deadline" and isinstance(value, datetime) and value <= now:
        raise Refused(
            f'deadline "{text}" is past (to end the run now: spoteval run finish {record.name})'
        )
    return setting, value


def _named(name: str) -> _Setting:
    """By its whole name; a stop rule also by its own."""
    known = {setting.name: setting for setting in _settings()}
    known |= {setting.name.removeprefix(_RULES): setting for setting in _settings()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, [*known, *_FROZEN], n=1)
    hint = f'did you mean "{near[0]}"?' if near else ", ".join(names())
    raise ShapeError(f'"{name}": no such setting ({hint})')


def _settings() -> tuple[_Setting, ...]:
    own = {item.name: item for item in keys_of(RunSettings)}
    plain = (
        _Setting("concurrency", own["concurrency"], rule=False, optional=False),
        _Setting("deadline", own["deadline"], rule=False, optional=True),
    )
    return (*plain, *_rules().values())


def _rules() -> dict[str, _Setting]:
    """The stop rules by their own names."""
    return {
        item.name: _Setting(_RULES + item.name, item, rule=True, optional=True)
        for item in keys_of(StopRules)
    }


def _read(setting: _Setting, text: str) -> object:
    if setting.optional and text == NONE:
        return None
    place = "run.stop_rules" if setting.rule else "run"
    name = setting.key.name
    return setting.key.kind.read(Table({name: _value(text, name)}, place), name)


def _value(text: str, name: str) -> object:
    """As TOML where it is that; money and pairs also as people write them, all else as text."""
    if (money := _MONEY.fullmatch(text)) is not None:
        found: dict[str, object] = {"amount": float(money[1]), "currency": money[2]}
        return {**found, "per": "hour"} if name == "price_cap" else found
    if (pair := _PAIR.fullmatch(text)) is not None:
        return {"preemptions": int(pair[1]), "episodes": int(pair[2])}
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
