"""Slow work: each piece runs beside the loop, within its time, and may be repeated."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, SIGTERM

from spoteval.clock import read_now
from spoteval.control.children import Reply, ask
from spoteval.control.enders import Ender, mark_proved
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.control.worker import Work
from spoteval.files import touch
from spoteval.machine import process
from spoteval.machine.cgroup import Members, emptied
from spoteval.paths import DurablePaths
from spoteval.run import RunRecord
from spoteval.shape import Reading, ShapeError, Unreadable
from spoteval_agents.boot_resume import rows_gate, rows_run
from spoteval_agents.boot_resume.observe import FORKED, READY, REFUSED
from spoteval_agents.boot_resume.rows_server import probing
from spoteval_agents.boot_resume.seen import Seen
from spoteval_agents.boot_resume.stages import AGENT

STORE_S, PROBE_S, SETTLE_S, ORPHANS_S = 20.0, 45.0, 600.0, 5.0

Ask = Callable[[list[str], float], Reading[Reply]]


@dataclass(frozen=True)
class Tools:
    """What slow work needs of the world."""

    disk: DurablePaths
    members: Members
    ask: Ask = ask


def work_of(name: str, seen: Seen, tools: Tools) -> Work:
    """The work that a row has named."""
    run = seen.active
    if name.startswith(probing("")):
        return lambda: probe(tools, name.removeprefix(probing("")))
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


def probe(tools: Tools, server: str) -> Reading[str]:
    """One look at a server, as a verdict and what was seen."""
    return _said(tools.ask(["server", "probe", server], PROBE_S), _verdict)


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


def _verdict(reply: Reply) -> str:
    is_ready, refused = reply.body.flag("ready"), reply.body.flag("refused")
    word = READY if is_ready else REFUSED if refused else "starting"
    return f"{word} {reply.body.text('saw')}"


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
