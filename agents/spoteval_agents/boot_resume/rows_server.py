"""The stage of the model servers: every one ready twice in a row, or a person is called. Pure."""

from dataclasses import replace

from spoteval.clock import stamp
from spoteval.line import Value
from spoteval.shape import Unreadable
from spoteval_agents.boot_resume.case import SOON_S, WORKING_S, Case, begins, shown_s, waits
from spoteval_agents.boot_resume.rows_run import held
from spoteval_agents.boot_resume.seen import News, Plan, Probe, Server
from spoteval_agents.boot_resume.stages import GATE, MARK

READY_LOOKS = 2
LONGEST_PAUSE_S = 10.0
FACTS = "environment"
"""Asked of the machine while the servers load: the answer is needed when they are ready."""


def servers(case: Case) -> Plan | None:
    """The first server that keeps the run from starting."""
    stages = case.run.stages
    if stages.healthy:
        return None
    if stages.gate is None:
        began = case.seen.served_since or case.now.wall
        detail = {"at": stamp(began), MARK: case.now.record()}
        return begins("server", {"servers": len(case.seen.servers)}, news=News(GATE, detail=detail))
    if (plan := _first(case)) is not None:
        return plan
    waiting = [server for server in case.seen.servers if not ready(probe_of(case, server))]
    for server in waiting:
        if (plan := _for_a_person(case, server) or _cache(case, server)) is not None:
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


def verifying(server: str) -> str:
    """The name of the work that holds its weights against their sums."""
    return f"weights {server}"


def setting_aside(server: str) -> str:
    """The name of the work that moves its compile cache away."""
    return f"compile-cache {server}"


def _first(case: Case) -> Plan | None:
    """What is done before any look: deaths are counted, weights verified, the machine asked what it is."""
    found = case.run.stages.servers
    for server in case.seen.servers:
        deaths = found.deaths.get(server.name, 0)
        if deaths >= _most(server):
            times = f"{deaths} times in a row"
            return held("server", f"server {server.name} died under the run, {times}")
        if server.weights and server.name not in found.verified:
            return _weights(case, server)
    if case.state.facts is None and FACTS not in case.state.failed:
        return case.does("environment", FACTS)
    return None


def _weights(case: Case, server: Server) -> Plan:
    """Wrong weights give a score of another model: nothing runs on them."""
    work = verifying(server.name)
    failed = case.state.failed.get(work)
    if failed is not None:
        return held("weights", f"weights of server {server.name}: {failed[0]}")
    return case.does("weights", work, {"name": server.name, "limit_s": server.limit_s})


def _for_a_person(case: Case, server: Server) -> Plan | None:
    """What waiting does not mend: a refused key, another model, starts that fail, a server that is late."""
    probe = probe_of(case, server)
    if probe.refused:
        needs = f"server {server.name}: {probe.saw}"
        plan = waits("server", _pairs(case, server), needs_you=needs)
        look = f"spoteval server probe {server.name}"
        return replace(plan, command=look, act=_due(case, server), next_s=WORKING_S)
    why = None if probe.ready or probe.at is None else _given_up(case, server)
    return held("server", f"server {server.name} {why}: {seen_of(case, server)}") if why else None


def _given_up(case: Case, server: Server) -> str | None:
    """Why a server that is not ready is not waited for any longer."""
    probe, failed = probe_of(case, server), case.run.stages.servers.failed.get(server.name, 0)
    if probe.gave_up is not None:
        return f"will not come by itself, {server.unit} failed ({probe.gave_up})"
    if failed >= _most(server):
        return f"failed to start {failed} times"
    if case.since_s(case.run.stages.gate) > server.limit_s:
        return f"is not ready after {server.limit_s:.0f} s"
    return None


def _cache(case: Case, server: Server) -> Plan | None:
    """A kill in mid-compile can leave a cache that ends every start: the last start has none. Once in a boot."""
    found, work = case.run.stages.servers, setting_aside(server.name)
    tried = server.name in found.moved or work in case.state.failed
    if server.cache is None or tried or probe_of(case, server).ready:
        return None
    failed = found.failed.get(server.name, 0)
    if failed < max(1, server.restarts - 1):
        return None
    return case.does("compile-cache", work, {"name": server.name, "failed": failed})


def _most(server: Server) -> int:
    return max(1, server.restarts)


def _looks(case: Case, waiting: list[Server]) -> Plan:
    """Wait for the first that is not ready; look at whichever is due, one at a time."""
    due = next((act for server in waiting if (act := _due(case, server)) is not None), None)
    shown = waits("server", _pairs(case, waiting[0]), busy=True)
    return replace(shown, act=due, next_s=SOON_S if due else WORKING_S)


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
        "saw": seen_of(case, server),
    }


def seen_of(case: Case, server: Server) -> str:
    """What is known of a server, such as "connection refused, process alive, loading weights 71 %"."""
    probe = probe_of(case, server)
    return ", ".join(word for word in (probe.saw, _process(server), probe.stage) if word)


def _process(server: Server) -> str:
    if isinstance(server.alive, Unreadable):
        return ""
    return "process alive" if server.alive else f"no process in {server.unit}"
