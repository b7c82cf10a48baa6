"""`[run]`: the template that `spoteval run new` freezes."""

from spoteval.config.shared import refuse_unknown
from spoteval.run import ERRORS, HARNESSES, LABELS, SETTLEMENTS, RunPlan, StopRules
from spoteval.shape import Table


def run_plan(table: Table) -> RunPlan:
    """`[run]`; raises ShapeError."""
    plan = RunPlan(
        harness=table.choice("harness", HARNESSES),
        settlement=table.choice("settlement", SETTLEMENTS),
        args=table.texts("args", ()),
        label=table.choice("label", LABELS, "exploratory"),
        user=table.text("user", ""),
        directory=table.text("directory", "."),
        executable=table.text("executable", ""),
        concurrency=table.whole("concurrency", 16),
        expected=_expected(table),
        errors=table.choice("errors", ERRORS, "keep"),
        preflight=table.texts("preflight", ()),
        preflight_within_s=table.duration_s("preflight_within", "5min"),
        deadline=table.maybe_moment("deadline"),
        env=table.strings("env"),
        secret_env=table.strings("secret_env"),
        stop_rules=_rules(table.table("stop_rules", {})),
    )
    table.choice("order", ("harness", "longest-first"), "harness")
    table.texts("containers", ())
    refuse_unknown(table)
    return plan


def _expected(table: Table) -> int | None:
    if not table.has("expected") or table.values["expected"] == "auto":
        return None
    count = table.whole("expected")
    if count < 1:
        raise table.error("expected", '"auto" or a whole number above 0')
    return count


def _rules(table: Table) -> StopRules:
    pair = table.table("preemptions_before_episodes", {"preemptions": 3, "episodes": 20})
    rules = StopRules(
        failed_starts_s=table.duration_s("failed_starts", "45min"),
        preemptions_before_healthy=table.whole("preemptions_before_healthy", 2),
        preemptions_before_episodes=(pair.whole("preemptions"), pair.whole("episodes")),
    )
    table.has("spend")
    refuse_unknown(table)
    return rules
