"""The run record: what is frozen when a run is made, and what may never change after."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from spoteval.clock import stamp
from spoteval.settings.keys import key
from spoteval.settings.kinds import DURATION, PREEMPTIONS_EPISODES, RATE_PER_HOUR, SUM, whole
from spoteval.settings.money import Money, amount_in, rate_in
from spoteval.shape import Reading, ShapeError, Table, Unreadable

LABELS = ("exploratory", "scored")
DRILL = "drill"
"""The label of a drill's own run. No person gives it: such a run measures the machine, never a model."""
SETTLEMENTS = ("fresh_budget", "remaining_budget", "none", "continued")
ERRORS = ("keep", "retry-1")
HARNESSES = ("inspect", "directory")


@dataclass(frozen=True, slots=True)
class StopRules:
    """When a run is no longer tried. None = as the restarter's [grant] says; a run can only tighten that."""

    failed_starts_s: float | None = field(
        default=None, metadata=key(DURATION, "so long without a start that reached RUNNING")
    )
    preemptions_before_healthy: int | None = field(
        default=None, metadata=key(whole(1), "so many preemptions in a row before `healthy`")
    )
    preemptions_before_episodes: tuple[int, int] | None = field(
        default=None,
        metadata=key(PREEMPTIONS_EPISODES, "so many preemptions before so many episodes finished"),
    )
    spend: Money | None = field(default=None, metadata=key(SUM, "so much spent on this run"))
    price_cap: Money | None = field(
        default=None, metadata=key(RATE_PER_HOUR, "no start above this price")
    )

    def record(self) -> dict[str, object]:
        """The rules as a JSON object."""
        pair = self.preemptions_before_episodes
        return {
            "failed_starts_s": self.failed_starts_s,
            "preemptions_before_healthy": self.preemptions_before_healthy,
            "preemptions_before_episodes": list(pair) if pair is not None else None,
            "spend": self.spend.record() if self.spend is not None else None,
            "price_cap": self.price_cap.record() if self.price_cap is not None else None,
        }


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What `[run]` of the host file says: the template of a run record."""

    harness: str
    settlement: str
    args: tuple[str, ...] = ()
    label: str = "exploratory"
    user: str = ""
    directory: str = "."
    executable: str = ""
    concurrency: int = 16
    expected: int | None = None
    errors: str = "keep"
    containers: tuple[str, ...] = ()
    preflight: tuple[str, ...] = ()
    preflight_within_s: float = 300.0
    deadline: datetime | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    secret_env: Mapping[str, str] = field(default_factory=dict)
    stop_rules: StopRules = StopRules()

    def record(self) -> dict[str, object]:
        """The plan as a JSON object. `secret_env` holds names of credential files, never secrets."""
        return {
            "harness": self.harness,
            "settlement": self.settlement,
            "args": list(self.args),
            "label": self.label,
            "user": self.user,
            "directory": self.directory,
            "executable": self.executable,
            "concurrency": self.concurrency,
            "expected": self.expected,
            "errors": self.errors,
            "containers": list(self.containers),
            "preflight": list(self.preflight),
            "preflight_within_s": self.preflight_within_s,
            "deadline": stamp(self.deadline) if self.deadline else None,
            "env": dict(self.env),
            "secret_env": dict(self.secret_env),
            "stop_rules": self.stop_rules.record(),
        }


@dataclass(frozen=True, slots=True)
class Change:
    """One change by `run set`: the generation that it made, and of each setting what it was and what it is."""

    generation: int
    at: datetime
    by: str
    reason: str
    settings: Mapping[str, tuple[str, str]]

    def record(self) -> dict[str, object]:
        """The change as a JSON object."""
        return {
            "generation": self.generation,
            "at": stamp(self.at),
            "by": self.by,
            "reason": self.reason,
            "settings": {name: list(pair) for name, pair in self.settings.items()},
        }


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A frozen run. `generation` grows with each change that is allowed; `versions` are those of its making."""

    name: str
    instance: str
    generation: int
    created: datetime
    plan: RunPlan
    versions: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()

    @property
    def rehearsal(self) -> bool:
        """Whether it is a drill's own run."""
        return self.plan.label == DRILL

    def record(self) -> dict[str, object]:
        """The record as a JSON object."""
        return {
            "name": self.name,
            "instance": self.instance,
            "generation": self.generation,
            "created": stamp(self.created),
            "plan": self.plan.record(),
            "versions": dict(self.versions),
            "changes": [change.record() for change in self.changes],
        }


def run_from(table: Table) -> Reading[RunRecord]:
    """The run in a JSON object; Unreadable where anything needed is missing or of the wrong kind."""
    try:
        return RunRecord(
            name=table.text("name"),
            instance=table.text("instance"),
            generation=table.whole("generation"),
            created=table.moment("created"),
            plan=_plan_from(table.table("plan")),
            versions=table.strings("versions"),
            changes=tuple(_change_from(item) for item in table.tables("changes")),
        )
    except ShapeError as error:
        return Unreadable(str(error))


def name_error(name: str) -> str | None:
    """Why `name` is no run name, or None: it becomes a folder and a part of store keys."""
    plain = name.isascii() and all(char.isalnum() or char in "-_." for char in name)
    if plain and 0 < len(name) <= 64 and name[0].isalnum():
        return None
    return f'"{name}": a run name is 1 to 64 of a-z A-Z 0-9 - _ . and begins with a letter or digit'


def _change_from(table: Table) -> Change:
    below = table.table("settings")
    pairs = {name: below.texts(name) for name in below.values}
    if not all(len(pair) == 2 for pair in pairs.values()):
        raise table.error("settings", "[before, after] of each")
    return Change(
        generation=table.whole("generation"),
        at=table.moment("at"),
        by=table.text("by"),
        reason=table.text("reason"),
        settings={name: (pair[0], pair[1]) for name, pair in pairs.items()},
    )


def _plan_from(table: Table) -> RunPlan:
    expected = table.maybe_number("expected")
    return RunPlan(
        harness=table.choice("harness", HARNESSES),
        settlement=table.choice("settlement", SETTLEMENTS),
        args=table.texts("args"),
        label=table.choice("label", (*LABELS, DRILL)),
        user=table.text("user"),
        directory=table.text("directory"),
        executable=table.text("executable"),
        concurrency=table.whole("concurrency"),
        expected=int(expected) if expected is not None else None,
        errors=table.choice("errors", ERRORS),
        containers=table.texts("containers", ()),
        preflight=table.texts("preflight"),
        preflight_within_s=table.number("preflight_within_s"),
        deadline=table.maybe_moment("deadline"),
        env=table.strings("env"),
        secret_env=table.strings("secret_env"),
        stop_rules=rules_from(table.table("stop_rules")),
    )


def rules_from(table: Table) -> StopRules:
    """The stop rules in a stored record; raises ShapeError."""
    healthy = table.values.get("preemptions_before_healthy")
    spend, cap = table.values.get("spend"), table.values.get("price_cap")
    return StopRules(
        failed_starts_s=table.maybe_number("failed_starts_s"),
        preemptions_before_healthy=None
        if healthy is None
        else table.whole("preemptions_before_healthy"),
        preemptions_before_episodes=_pair(table),
        spend=None if spend is None else amount_in(table, "spend"),
        price_cap=None if cap is None else rate_in(table, "price_cap"),
    )


def _pair(table: Table) -> tuple[int, int] | None:
    pair = table.values.get("preemptions_before_episodes")
    if pair is None:
        return None
    if not (isinstance(pair, list) and [type(item) for item in pair] == [int, int]):
        raise table.error("preemptions_before_episodes", "[preemptions, episodes]")
    return pair[0], pair[1]
