"""Events of the model servers: their failed starts, all ready, the environment then, a death under the run. Pure."""

from collections.abc import Iterable, Iterator

from spoteval.clock import Now, elapsed_s
from spoteval.control.environment import ENVIRONMENT, changes
from spoteval.control.markers import SERVER_DIED
from spoteval.shape import Unreadable
from spoteval_agents.boot_resume.rows_after import SICK_LOOKS, dead
from spoteval_agents.boot_resume.rows_server import READY_LOOKS
from spoteval_agents.boot_resume.seen import News, Probe, RunSeen, Seen, Server, State
from spoteval_agents.boot_resume.stages import MARK
from spoteval_agents.boot_resume.stages_server import HEALTHY, SERVER_ANEW, SERVER_FAILED


def news_of_servers(state: State, seen: Seen, run: RunSeen, now: Now) -> Iterable[News]:
    """What the servers did since the last look."""
    stages = run.stages
    if stages.gate is not None and not stages.healthy:
        for server in seen.servers:
            yield from _starts(run, server, state.probes.get(server.name, Probe()))
        yield from _healthy(state, seen, run, now)
    if stages.healthy and not stages.environment and state.facts is not None:
        yield _environment(state, seen, run)
    yield from _deaths(state, seen, run, now)


def missing(seen: Seen) -> frozenset[str]:
    """Servers whose processes are gone or new: one look may err, two in a row do not."""
    run = seen.active
    return frozenset(server.name for server in dead(seen, run.stages)) if run else frozenset()


def _starts(run: RunSeen, server: Server, probe: Probe) -> Iterable[News]:
    """The service manager counts its restarts: each since the last look is a start that failed, but for one after a
    death. Its count begins anew where somebody starts the unit by hand."""
    found, name = run.stages.servers, server.name
    known = found.restarts.get(name, 0)
    if probe.restarts is None or probe.restarts == known:
        return
    detail: dict[str, object] = {"server": name, "restarts": probe.restarts}
    failed = probe.restarts - known - found.excused.get(name, 0)
    if failed > 0:
        reason = f"{server.name}: {', '.join(word for word in (probe.saw, probe.stage) if word)}"
        yield News(SERVER_FAILED, reason, {**detail, "failed": failed})
    else:
        yield News(SERVER_ANEW, detail=detail)


def _healthy(state: State, seen: Seen, run: RunSeen, now: Now) -> Iterable[News]:
    """All ready at once, in the same gate."""
    probes = {server.name: state.probes.get(server.name, Probe()) for server in seen.servers}
    if not all(probe.ready >= READY_LOOKS for probe in probes.values()) or run.stages.gate is None:
        return
    kinds = {server.name: server.kind for server in seen.servers}
    said = {name: probe.version for name, probe in probes.items() if probe.version is not None}
    yield News(
        HEALTHY,
        detail={
            "took_s": round(elapsed_s(run.stages.gate, now) or 0.0, 3),
            MARK: now.record(),
            "served": [server.name for server in seen.servers if server.alive is True],
            "versions": {name: f"{kinds[name]} {version}" for name, version in said.items()},
        },
    )


def _environment(state: State, seen: Seen, run: RunSeen) -> News:
    """What the run is measured on now, held against what is in force: in a scored run a change waits."""
    assert state.facts is not None
    versions = run.stages.servers.versions
    known = {f"server.{name}": version for name, version in versions.items()}
    silent = {
        f"server.{server.name}": "it says no version"
        for server in seen.servers
        if server.name not in versions
    }
    values = {**state.facts.values, **known}
    differ = changes(run.standing.in_force, values)
    detail: dict[str, object] = {
        "values": values,
        "unknown": {**state.facts.unknown, **silent},
        "changes": list(differ),
        "took_s": round(state.facts.took_s, 3),
        "waits": bool(differ) and run.record.plan.label == "scored",
    }
    return News(ENVIRONMENT, "; ".join(differ) or None, detail)


def _deaths(state: State, seen: Seen, run: RunSeen, now: Now) -> Iterable[News]:
    """A death under the run, unless somebody is stopping all of it; the first one is enough to stop it."""
    stages, found = run.stages, run.stages.servers
    stopping = seen.draining or seen.hold is not None
    if stages.started is None or found.died is not None or stopping or found.ready_at is None:
        return
    first = next(_dying(state, seen, run), None)
    if first is None:
        return
    server, how, excused = first
    detail: dict[str, object] = {
        "server": server,
        "served_s": round(elapsed_s(found.ready_at, now) or 0.0, 3),
        "excused": excused,
    }
    yield News(SERVER_DIED, f"{server}: {how}", detail)


def _dying(state: State, seen: Seen, run: RunSeen) -> Iterator[tuple[str, str, int]]:
    """Who is dead, by what, and how often its manager starts it again for that.

    Processes that are gone are seen twice, or once where the run is gone too.
    """
    is_gone = not isinstance(run.members, Unreadable) and not run.members
    for server in dead(seen, run.stages):
        if server.name in state.missing or is_gone:
            how = "its processes are new" if server.alive else f"no process in {server.unit}"
            yield server.name, how, 1
    for name, health in state.health.items():
        if health.sick >= SICK_LOOKS:
            yield name, health.saw, 0
