"""A run's record and progress as lines; lists of runs."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spoteval.clock import stamp
from spoteval.line import flat
from spoteval.run import Change, RunPlan, RunRecord, StopRules
from spoteval.settings.keys import keys_of
from spoteval.settlement import DISCLOSED


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run in a list. What is not known here is None."""

    name: str
    state: str
    label: str
    harness: str
    created: str
    finished: int | None
    intended: int | None

    def record(self) -> dict[str, object]:
        """The line as a JSON object."""
        return {
            "run": self.name,
            "state": self.state,
            "label": self.label,
            "harness": self.harness,
            "created": self.created,
            "finished": self.finished,
            "intended": self.intended,
        }

    def cells(self) -> Sequence[str]:
        """The line as cells of a table."""
        done = f"{_count(self.finished)} of {_count(self.intended)}"
        return (self.name, self.state, self.label, self.harness, done, self.created)


HEAD = ("RUN", "STATE", "LABEL", "HARNESS", "FINISHED", "MADE")


def record_lines(record: RunRecord) -> list[str]:
    """The frozen record, one setting a line, absent ones left out."""
    plan = record.plan
    pairs = [
        ("run", f"{record.name}, generation {record.generation}, made {stamp(record.created)}"),
        ("instance", record.instance),
        ("label", plan.label),
        ("harness", f"{plan.harness} {record.versions.get(plan.harness, '')}".strip()),
        ("spoteval", record.versions.get("spoteval", "unknown")),
        ("command", _command(plan)),
        ("directory", plan.directory),
        ("user", plan.user),
        ("concurrency", str(plan.concurrency)),
        ("expected", "from the harness's header" if plan.expected is None else str(plan.expected)),
        ("settlement", f"{plan.settlement}: {DISCLOSED[plan.settlement]}"),
        ("errors", plan.errors),
        ("preflight", " ".join(plan.preflight)),
        ("deadline", stamp(plan.deadline) if plan.deadline else ""),
        ("env", _pairs(plan.env.items())),
        ("secret_env", _pairs((name, f"<{file}>") for name, file in plan.secret_env.items())),
        ("stop rules", _rules(plan)),
        *(("changed", _changed(change)) for change in record.changes),
    ]
    return [f"{name:<12} {value}" for name, value in pairs if value]


def _command(plan: RunPlan) -> str:
    words = [plan.executable or plan.harness, *plan.args]
    return " ".join(
        word if word.isprintable() and " " not in word else json.dumps(word) for word in words
    )


def _pairs(items: Iterable[tuple[str, str]]) -> str:
    return " ".join(f"{name}={value}" for name, value in items)


def _rules(plan: RunPlan) -> str:
    """What this run tightens; all else is as [grant] on the restarter host says."""
    typed = [
        (item.name, item.text(getattr(plan.stop_rules, item.field)))
        for item in keys_of(StopRules)
        if getattr(plan.stop_rules, item.field) is not None
    ]
    return " · ".join(f"{name} {text}" for name, text in typed) or "those of [grant]"


def _changed(change: Change) -> str:
    words = ", ".join(
        f"{name} {before} -> {after}" for name, (before, after) in change.settings.items()
    )
    return f'{words}: "{flat(change.reason)}" ({flat(change.by)}, {stamp(change.at)})'


def _count(value: int | None) -> str:
    return "?" if value is None else str(value)
