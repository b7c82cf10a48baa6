"""What to do next: the first stage that is not yet true. Pure.

Every stage is looked at anew in each cycle, which is what makes them repeatable: a hold that appears, a server that
goes away, a run that ends, each brings its own row back.
"""

from collections.abc import Callable

from spoteval.clock import Now
from spoteval_agents.boot_resume import rows_after, rows_gate, rows_run, rows_server
from spoteval_agents.boot_resume.case import Case
from spoteval_agents.boot_resume.seen import Plan, Policy, Seen, State

ROWS: tuple[Callable[[Case], Plan | None], ...] = (
    rows_gate.disk,
    rows_gate.boot_number,
    rows_gate.unfinished_intent,
    rows_gate.active_run,
    rows_gate.draining,
    rows_gate.guest_hold,
    rows_gate.intent_at_work,
    rows_gate.forked,
    rows_after.server_died,
    rows_after.running,
    rows_gate.epoch,
    rows_gate.resume,
    rows_gate.orphans,
    rows_run.settlement,
    rows_run.complete,
    rows_run.failing,
    rows_server.servers,
    rows_after.environment,
    rows_run.preflight,
)


def decide(state: State, seen: Seen, policy: Policy, now: Now) -> Plan:
    """The first row that matches; where none does, the run is started."""
    case = Case(state, seen, policy, now)
    for row in ROWS:
        if (plan := row(case)) is not None:
            return plan
    return rows_run.start(case)
