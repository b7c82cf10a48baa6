"""Slow work: each piece runs beside the loop, within its time, and may be repeated."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, SIGTERM

from spoteval.clock import read_now
from spoteval.control.children import Reply, ask
from spoteval.control.containers import DOCKER, Removal, ask_removal, filters_of, first_start
from spoteval.control.enders import Ender, mark_proved
from spoteval.control.runcontrol import RUN_UNIT, stop_run
from spoteval.control.runstop import Asked, Stop, stop_marked
from spoteval.control.worker import Work
from spoteval.files import move_aside, read_lines, touch
from spoteval.harness.plans import stop_steps
from spoteval.interruption import SERVER
from spoteval.machine import process
from spoteval.machine.cgroup import Members, emptied
from spoteval.paths import DurablePaths
from spoteval.run import RunRecord
from spoteval.shape import Reading, ShapeError, Unreadable
from spoteval_agents.boot_resume import rows_gate, rows_run
from spoteval_agents.boot_resume.observe import FORKED
from spoteval_agents.boot_resume.rows_after import STOP_RUN, watching
from spoteval_agents.boot_resume.rows_server import FACTS, probing, setting_aside, verifying
from spoteval_agents.boot_resume.seen import RunSeen, Seen, Server
from spoteval_agents.boot_resume.stages import AGENT

STORE_S, HEALTH_S, FACTS_S, SETTLE_S, ORPHANS_S = 20.0, 20.0, 30.0, 600.0, 5.0

Ask = Callable[[list[str], float], Reading[Reply]]


@dataclass(frozen=True)
class Tools:
    """What slow work needs of the world."""

    disk: DurablePaths
    members: Members
    ask: Ask = ask
    stop: Stop = stop_run
    containers: Path | None = None
    """Where the removal of the run's containers is asked for."""


def work_of(name: str, seen: Seen, tools: Tools) -> Work:
    """The work that a row has named."""
    run = seen.active
    if (found := _of_server(name, seen, tools)) is not None:
        return found
    if name == FACTS:
        return lambda: _said(tools.ask(["run", "environment"], FACTS_S), _facts)
    if name == STOP_RUN and run is not None:
        return lambda: stop_for_server(run, seen.session, tools)
    if name == rows_run.SETTLE:
        return lambda: settle(tools)
    if name == rows_gate.ORPHANS:
        return lambda: remove_orphans(tools)
    if name == rows_run.PREFLIGHT and run is not None:
        return lambda: preflight(run.record, tools.disk)
    intents = () if isinstance(seen.intents, Unreadable) else seen.intents
    named = {f"{rows_gate.OWED} {intent.name}": intent for intent in intents}
    return lambda: place_again(tools, named[name])


def post(name: str, tools: Tools) -> Work:
    """Tell the store one thing about this boot."""
    if name == rows_gate.EPOCH:
        return lambda: claim(tools)
    return lambda: _said(tools.ask(["fact", "put", name], STORE_S), lambda _: "put")


def claim(tools: Tools) -> Reading[str]:
    """Claim the epoch. A refusal that does not say `forked` is a failure like others."""
    reply = tools.ask(["fact", "epoch"], STORE_S)
    if not isinstance(reply, Unreadable) and reply.body.values.get("forked") is True:
        return f"{FORKED}: {reply.said}"
    return _said(reply, lambda found: f"epoch {found.body.whole('epoch')}")


def _of_server(name: str, seen: Seen, tools: Tools) -> Work | None:
    """Work that is about one server: a look, its weights, its cache."""
    server_name = name.partition(" ")[2]
    server = next((item for item in seen.servers if item.name == server_name), None)
    if server is None:
        return None
    works: dict[str, Work] = {
        probing(server_name): lambda: probe(tools, server),
        verifying(server_name): lambda: verify(tools, server),
        setting_aside(server_name): lambda: set_aside(server),
        watching(server_name): lambda: _said(
            tools.ask(["server", "health", server_name], HEALTH_S), _sick
        ),
    }
    return works.get(name)


def probe(tools: Tools, server: Server) -> Reading[str]:
    """One look at a server, as the JSON object of what was seen."""
    return _said(tools.ask(["server", "probe", server.name], server.probe_s), _looked)


def verify(tools: Tools, server: Server) -> Reading[str]:
    """Its weights against their sums; what a machine that was taken away has verified already counts."""
    reply = tools.ask(["server", "weights", server.name], server.limit_s)
    return _said(reply, lambda found: f"{found.body.whole('files')} files as listed")


def set_aside(server: Server) -> Reading[str]:
    """Rename the compile cache, so that the next start begins without one; nothing of it is thrown away."""
    cache = Path(str(server.cache))
    if not cache.exists():
        return f"{cache}: there is none"
    aside = cache.with_name(f"{cache.name}.aside-{read_now().wall:%Y%m%dT%H%M%S}")
    try:
        move_aside(cache, aside)
    except OSError as error:
        return Unreadable(f"{cache}: {error.strerror}")
    return f"{cache} -> {aside}"


def stop_for_server(run: RunSeen, session: str, tools: Tools) -> Reading[str]:
    """Stop the run by its own path, marked first: what it has in flight is settled as the server's doing."""
    record, died = run.record, run.stages.servers.died
    asked = Asked(AGENT, f"server {died} died", session, source=AGENT, cause=SERVER)
    steps = stop_steps(record.plan.harness)
    done = stop_marked(
        record, tools.disk.run(record.name), asked, tools.members, steps, stop=tools.stop
    )
    if isinstance(done, Unreadable):
        return done
    if done is not None and not done.empty:
        return Unreadable(f"processes of {RUN_UNIT} do not go")
    _remove_containers(record, session, tools)
    return "was gone already" if done is None else " then ".join(done.told) or "KILL"


def _remove_containers(record: RunRecord, session: str, tools: Tools) -> None:
    """Ask for what a killed harness leaves in Docker: the next start would meet its names and ports."""
    filters = filters_of(record)
    since = first_start(read_lines(tools.disk.run(record.name).events).records, session)
    if filters and since is not None and tools.containers is not None and DOCKER.exists():
        ask_removal(tools.containers, Removal(filters, since, AGENT), read_now())


def settle(tools: Tools) -> Reading[str]:
    """Settle; the child writes the event."""
    reply = tools.ask(["settle", "--by", AGENT], SETTLE_S)
    return _said(reply, lambda found: str(found.body.whole("settled")))


def place_again(tools: Tools, intent: Ender) -> Reading[str]:
    """First the guest hold, which needs no store; then the hold that the ender owes, proved; then its record."""
    text = f"{intent.agent} wanted this machine off: {intent.reason}"
    touch(tools.disk.guest_hold, text)
    words = ["--reason", intent.reason, "--by", intent.agent, "--id", intent.hold_id]
    reply = tools.ask(["hold", "place", *words, "--ensure-stopped"], STORE_S)
    strength = _said(reply, lambda found: found.body.text("strength"))
    if isinstance(strength, Unreadable):
        return strength
    detail = {"at": read_now().record(), "strength": strength, "by": AGENT}
    mark_proved(tools.disk.enders, intent.name, detail)
    return f"{intent.hold_id} {strength}: {intent.reason}"


def remove_orphans(tools: Tools) -> Reading[str]:
    """TERM, then KILL, until nobody is left in the run's unit."""
    for signum in (SIGTERM, SIGKILL):
        found = emptied(tools.members, RUN_UNIT, signum, ORPHANS_S)
        if isinstance(found, Unreadable):
            return found
        if found:
            return f"gone after {signum.name}"
    return Unreadable(f"processes of {RUN_UNIT} do not go")


def preflight(run: RunRecord, disk: DurablePaths) -> Reading[str]:
    """The user's own check, in the run's directory; seconds that it took, or how it failed."""
    work = disk.run(run.name).work
    done = process.run(
        run.plan.preflight, run.plan.preflight_within_s, cwd=_directory(work, run.plan.directory)
    )
    if done.ok:
        return f"{done.duration_s:.3f}"
    last = (done.err.strip() or done.out.strip()).rpartition("\n")[2]
    how = f"timeout:{run.plan.preflight_within_s:g}s" if done.timed_out else f"exit {done.code}"
    return Unreadable(f"{run.plan.preflight[0]}: {how}{f': {last}' if last else ''}")


def _directory(work: Path, directory: str) -> Path | None:
    found = work / directory
    return found if found.is_dir() else None


def _looked(reply: Reply) -> str:
    body = reply.body
    restarts = body.maybe_number("restarts")
    return json.dumps(
        {
            "ready": body.flag("ready"),
            "refused": body.flag("refused"),
            "saw": body.text("saw"),
            "stage": body.maybe_text("stage"),
            "version": body.maybe_text("version"),
            "restarts": None if restarts is None else int(restarts),
            "gave_up": body.maybe_text("gave_up"),
        }
    )


def _sick(reply: Reply) -> str:
    return reply.body.maybe_text("sick") or ""


def _facts(reply: Reply) -> str:
    body = reply.body
    return json.dumps({"values": body.strings("values"), "unknown": body.strings("unknown")})


def _said(reply: Reading[Reply], word: Callable[[Reply], str]) -> Reading[str]:
    """The word in a reply; a refusal and an object without what was asked for are failures."""
    if isinstance(reply, Unreadable):
        return reply
    if reply.refused:
        return Unreadable(reply.said or "refused")
    try:
        return word(reply)
    except ShapeError as error:
        return Unreadable(str(error))
