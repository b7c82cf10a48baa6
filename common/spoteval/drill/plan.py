"""A drill's own run: what it is called, and how it is frozen."""

import sys
from datetime import datetime

from spoteval.config.guest import GuestConfig
from spoteval.run import DRILL, RunPlan

PREFIX = "drill-"
EPISODES, SLOTS, LENGTH_S = 24, 4, 10.0
"""A minute of work in four slots: enough that one episode is finished and others run when the stop comes, and that
some are left for after it."""
STOPS = 2
GUEST, RESTARTER = "guest", "restarter"
"""Who asks for the stops: the guest switches itself off, or the restarter host has the provider do it."""
PREFLIGHT_WITHIN_S = 900.0
"""The second stop is waited for in the run's preflight, which lies inside of boot-resume's work."""


def drill_name(at: datetime) -> str:
    """The name of a drill that begins now."""
    return f"{PREFIX}{at:%Y%m%dt%H%M%S}"


def is_drill(run: str) -> bool:
    """Whether the name is one of a drill's run."""
    return run.startswith(PREFIX)


def drill_plan(config: GuestConfig, by: str) -> RunPlan:
    """The plan of a drill whose stops are asked for by `by`. It runs as the user of the host file's own runs."""
    return RunPlan(
        harness="directory",
        settlement="fresh_budget",
        label=DRILL,
        user=config.run.user if config.run is not None else "",
        executable=sys.executable,
        args=("-m", "spoteval.drill.episodes"),
        concurrency=SLOTS,
        expected=EPISODES,
        preflight=(sys.executable, "-m", "spoteval.drill.preflight", by),
        preflight_within_s=PREFLIGHT_WITHIN_S,
    )
