"""The stage of the model servers: every one ready twice in a row, or a person is called. Pure."""

from spoteval.clock import stamp
from spoteval.line import Value
from spoteval.shape import Unreadable
from spoteval_agents.boot_resume.case import SOON_S, WORKING_S, Case, begins, shown_s, waits
from spoteval_agents.boot_resume.rows_run import held
from spoteval_agents.boot_resume.seen import News, Plan, Probe, Server
from spoteval_agents.boot_resume.stages import GATE, MARK

READY_LOOKS = 2
LONGEST_PAUSE_S = 10.0


def servers(case: Case) -> Plan | None:
    """The first server that keeps the run from starting."""
    stages = case.run.stages
    if stages.healthy:
        return None
    if stages.gate is None:
        began = case.seen.served_since or case.now.wall
        detail = {"at": stamp(began), MARK: case.now.record()}
        return begins("server", {"servers": len(case.seen.servers)}, news=News(GATE, detail=detail))
    waiting = [server for server in case.seen.servers if not ready(probe_of(case, server))]
    for server in waiting:
        if (plan := _for_a_person(case, server)) is not None:
            return plan
    return _looks(case, waiting) if waiting else waits("server", busy=True, next_s=0.0)


def ready(probe: Probe) -> bool:
    """Twice in a row: the first answer of a server may be its last."""
    return probe.ready >= READY_LOOKS


def probe_of(case: Case, server: Server) -> Probe:
    """The looks at this server so far."""
    return case.state.probes.get(server.name, Probe())


def probing(server: str) -> str:
    """The name of the work that looks at this server."""
    return f"probe {server}"


def _for_a_person(case: Case, server: Server) -> Plan | None:
    """A refused key is not mended by waiting; a server that is late gets the guest hold."""
    probe = probe_of(case, server)
    if probe.refused:
        needs = f"server {server.name} refuses the run's key: {probe.saw}"
        plan = waits("server", _pairs(case, server), needs_you=needs)
        return Plan(plan.decision, needs_you=needs, act=_due(case, server))
    late = case.since_s(case.run.stages.gate) > server.limit_s
    is_known = probe.at is not None  # not yet after a restart of ours
    if late and is_known and probe.ready == 0:
        limit = f"{server.limit_s:.0f} s"
        return held("server", f"server {server.name} is not ready after {limit}: {probe.saw}")
    return None


def _looks(case: Case, waiting: list[Server]) -> Plan:
    """Wait for the first that is not ready; look at whichever is due, one at a time."""
    due = next((act for server in waiting if (act := _due(case, server)) is not None), None)
    shown = waits("server", _pairs(case, waiting[0]), busy=True)
    return Plan(shown.decision, act=due, busy=True, next_s=SOON_S if due else WORKING_S)


def _due(case: Case, server: Server) -> str | None:
    """The look, if it is time for one: at once after a first good one, seldom where a load takes long."""
    probe = probe_of(case, server)
    if case.seen.work is not None:
        return None
    waited_s = case.since_s(case.run.stages.gate)
    pause_s = LONGEST_PAUSE_S if probe.refused else min(LONGEST_PAUSE_S, waited_s / 10)
    if probe.ready or probe.at is None or case.since_s(probe.at) >= max(WORKING_S, pause_s):
        return probing(server.name)
    return None


def _pairs(case: Case, server: Server) -> dict[str, Value]:
    return {
        "name": server.name,
        "elapsed_s": shown_s(case.since_s(case.run.stages.gate)),
        "limit_s": server.limit_s,
        "saw": f"{probe_of(case, server).saw}{_process(server)}",
    }


def _process(server: Server) -> str:
    if isinstance(server.alive, Unreadable):
        return ""
    return ", process alive" if server.alive else f", no process in {server.unit}"
