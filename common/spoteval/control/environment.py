"""What a run is measured on, held against what it was measured on before: GPUs, driver, servers, harness, models.

Pure. A fact that nobody knows is left out, which is no change: the last known value stays in force.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from spoteval.run import RunRecord

ENVIRONMENT, ACCEPTED = "environment", "environment-accepted"
HARNESS = "harness"
_MODEL = "model."
NONE = "none"
_WORDS = {"gpu": "GPU", "gpus": "number of GPUs"}


@dataclass(frozen=True, slots=True)
class Standing:
    """What is in force for a run, and what of a newer environment waits for a person."""

    in_force: Mapping[str, str] = field(default_factory=dict)
    pending: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    boots: int = 0
    """Lives of the machine whose environment is on record."""
    disclosed: tuple[str, ...] = ()
    """Changes under which the run went on, each with who accepted it where that was needed."""


def standing(run: RunRecord, records: Iterable[Mapping[str, object]]) -> Standing:
    """Fold the run's events, in the order of the file. What the run froze of its harness comes first."""
    found, sessions = Standing(in_force=_frozen(run)), set[object]()
    for record in records:
        detail = record.get("detail")
        if record.get("kind") == ENVIRONMENT and isinstance(detail, Mapping):
            sessions.add(record.get("session"))
            found = _seen(found, detail)
        elif record.get("kind") == ACCEPTED and found.changes:
            said = tuple(f"{change}, accepted: {record.get('reason')}" for change in found.changes)
            found = _in_force(found, found.pending, said)
    return replace(found, boots=len(sessions))


def changes(in_force: Mapping[str, str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Each difference in words, such as "GPU changed H200 -> H100"."""
    gone = (name for name in in_force if name.startswith(_MODEL) and name not in values)
    new = (name for name in values if name.startswith(_MODEL) and name not in in_force)
    both = (name for name in values if name in in_force)
    has_models = any(name.startswith(_MODEL) for name in in_force)
    names = dict.fromkeys((*both, *gone, *(new if has_models else ())))
    pairs = ((name, in_force.get(name, NONE), values.get(name, NONE)) for name in names)
    return tuple(
        f"{_named(name)} changed {before} -> {after}"
        for name, before, after in pairs
        if before != after
    )


def _seen(found: Standing, detail: Mapping[str, object]) -> Standing:
    values, differ = _texts(detail.get("values")), detail.get("changes")
    said = tuple(map(str, differ)) if isinstance(differ, list) else ()
    if detail.get("waits") is True:
        return replace(found, pending=values, changes=said)
    return _in_force(found, values, said)


def _in_force(found: Standing, values: Mapping[str, str], said: tuple[str, ...]) -> Standing:
    kept = {
        name: value
        for name, value in found.in_force.items()
        if not name.startswith(_MODEL) or name in values
    }
    disclosed = (*found.disclosed, *said)
    return replace(found, in_force={**kept, **values}, pending={}, changes=(), disclosed=disclosed)


def _frozen(run: RunRecord) -> dict[str, str]:
    name = run.plan.harness
    version = run.versions.get(name, "unknown")
    return {} if version == "unknown" else {HARNESS: f"{name} {version}"}


def _named(name: str) -> str:
    kind, dot, of = name.partition(".")
    return (
        f"{kind} of {of}"
        if dot and kind == "model"
        else f"{kind} {of}"
        if dot
        else _WORDS.get(name, name)
    )


def _texts(found: object) -> dict[str, str]:
    pairs = found.items() if isinstance(found, Mapping) else ()
    return {str(name): value for name, value in pairs if isinstance(value, str)}
