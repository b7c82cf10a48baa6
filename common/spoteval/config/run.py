"""`[run]`: the template that `spoteval run new` freezes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from spoteval.run import ERRORS, HARNESSES, LABELS, SETTLEMENTS, RunPlan, StopRules
from spoteval.settings.keys import key, read
from spoteval.settings.kinds import (
    DURATION,
    MAYBE_EMPTY,
    MOMENT,
    TEXT,
    TEXTS,
    VARIABLES,
    choice,
    or_word,
    table_of,
    whole,
)
from spoteval.shape import Table


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The template: `spoteval run new NAME` freezes it, and the frozen record wins over the file."""

    harness: str = field(metadata=key(choice(*HARNESSES), "what runs the episodes"))
    settlement: str = field(
        metadata=key(choice(*SETTLEMENTS), "what becomes of attempts that an interruption cut")
    )
    args: tuple[str, ...] = field(default=(), metadata=key(TEXTS, "arguments of the harness"))
    label: str = field(
        default="exploratory",
        metadata=key(choice(*LABELS), "`scored` needs a fresh qualification"),
    )
    user: str = field(
        default="", metadata=key(MAYBE_EMPTY, "whose run it is; `setup guest` tells its unit")
    )
    directory: str = field(default=".", metadata=key(TEXT, "working directory"))
    executable: str = field(
        default="", metadata=key(MAYBE_EMPTY, "program of the harness; empty = its name, by PATH")
    )
    concurrency: int = field(default=16, metadata=key(whole(1), "episodes at a time"))
    expected: int | None = field(
        default=None,
        metadata=key(or_word("auto", whole(1)), "episodes; auto = from the harness's own header"),
    )
    errors: str = field(
        default="keep",
        metadata=key(choice(*ERRORS), "the same for every episode, interrupted or not"),
    )
    max_attempts: int | None = field(
        default=None, metadata=key(whole(1), "then left preemption_interrupted", later=True)
    )
    order: str = field(
        default="harness",
        metadata=key(choice("harness", "longest-first"), "order of the episodes", later=True),
    )
    containers: tuple[str, ...] = field(
        default=(), metadata=key(TEXTS, "Docker filters: what is part of the run", later=True)
    )
    preflight: tuple[str, ...] = field(
        default=(), metadata=key(TEXTS, "program that must pass before each start")
    )
    preflight_within_s: float = field(default=300.0, metadata=key(DURATION, "longest preflight"))
    deadline: datetime | None = field(
        default=None, metadata=key(MOMENT, "then stopped, published, held, powered off")
    )
    env: Mapping[str, str] = field(
        default_factory=dict, metadata=key(VARIABLES, "variables of the harness")
    )
    secret_env: Mapping[str, str] = field(
        default_factory=dict,
        metadata=key(VARIABLES, "variable = file in the credentials directory"),
    )
    stop_rules: StopRules = field(
        default=StopRules(),
        metadata=key(table_of(StopRules), "may only be tighter than [grant]"),
    )


def run_plan(table: Table) -> RunPlan:
    """`[run]`; raises ShapeError."""
    found = read(RunSettings, table)
    if found.max_attempts is not None and found.harness == "inspect":
        raise table.error("max_attempts", "left out: harness inspect cannot leave an episode out")
    return RunPlan(
        harness=found.harness,
        settlement=found.settlement,
        args=found.args,
        label=found.label,
        user=found.user,
        directory=found.directory,
        executable=found.executable,
        concurrency=found.concurrency,
        expected=found.expected,
        errors=found.errors,
        containers=found.containers,
        preflight=found.preflight,
        preflight_within_s=found.preflight_within_s,
        deadline=found.deadline,
        env=found.env,
        secret_env=found.secret_env,
        stop_rules=found.stop_rules,
    )
