"""Stages that follow on ready servers: the environment is the one the run began in, and stays alive. Pure."""

from dataclasses import replace

from spoteval.shape import Unreadable
from spoteval_agents.boot_resume import rows_run
from spoteval_agents.boot_resume.case import WAITING_S, Case, waits
from spoteval_agents.boot_resume.rows_server import FACTS
from spoteval_agents.boot_resume.seen import Plan, Seen, Server
from spoteval_agents.boot_resume.stages import Stages

STOP_RUN = "stop-run"
WATCH_EVERY_S, SICK_EVERY_S, SICK_LOOKS = 60.0, 10.0, 3
"""How often a server is looked at under the run, how often a sick one, and how many such looks are a death."""
ACCEPT = 'spoteval run accept-environment --reason "…"'


def environment(case: Case) -> Plan | None:
    """The same GPUs, driver, servers, harness and models as before, or a person accepts the change."""
    if not case.run.stages.environment:
        if case.state.facts is None:
            return case.does("environment", FACTS)
        return waits("environment", busy=True, next_s=0.0)  # the next look puts it on record
    changed = "; ".join(case.run.standing.changes)
    if not changed:
        return None
    plan = waits("environment", {"changed": changed}, ACCEPT, f"does not resume: {changed}")
    return Plan(plan.decision, needs_you=plan.needs_you, command=ACCEPT, next_s=WAITING_S)


def server_died(case: Case) -> Plan | None:
    """The run is stopped by its own path first: its episodes would all end as errors of the harness."""
    run = case.run
    name = run.stages.servers.died
    if name is None or not run.members or isinstance(run.members, Unreadable):
        return None
    return case.does("server-died", STOP_RUN, {"name": name, "processes": run.members})


def running(case: Case) -> Plan | None:
    """Our run works: its servers are looked at beside it, seldom while all are well."""
    plan = rows_run.running(case)
    if plan is None or not case.run.stages.first_episode or case.seen.work is not None:
        return plan
    due = (server.name for server in case.seen.servers if _is_due(case, server.name))
    name = next(due, None)
    return plan if name is None else replace(plan, act=watching(name))


def watching(server: str) -> str:
    """The name of the work that looks at a server under the run."""
    return f"health {server}"


def _is_due(case: Case, server: str) -> bool:
    last = case.state.health.get(server)
    mark = case.run.stages.servers.ready_at if last is None else last.at
    return case.since_s(mark) >= (SICK_EVERY_S if last is not None and last.sick else WATCH_EVERY_S)


def dead(seen: Seen, stages: Stages) -> tuple[Server, ...]:
    """Servers whose processes of the last gate are all gone, whether their unit has new ones or not."""
    found = stages.servers
    if found.ready_at is None:
        return ()
    served = (server for server in seen.servers if server.name in found.served)
    return tuple(server for server in served if _is_new(server, found.ready_at.mono_s))


def _is_new(server: Server, ready_s: float) -> bool:
    if isinstance(server.alive, Unreadable):
        return False
    return not server.alive or (server.born_s is not None and server.born_s > ready_s)
