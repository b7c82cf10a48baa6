"""Stages before anything may resume: the disk, the boot's number, a run, intents, holds, the epoch. Pure."""

from dataclasses import replace

from spoteval.control.enders import owed, standing
from spoteval.shape import Unreadable
from spoteval_agents.boot_resume.case import SOON_S, WAITING_S, Case, begins, waits
from spoteval_agents.boot_resume.seen import News, Plan
from spoteval_agents.boot_resume.stages import RESUMED

NUMBER, OWED, EPOCH, ORPHANS = "number", "owed", "epoch", "orphans"
"""Names of acts and of slow work."""


def disk(case: Case) -> Plan | None:
    """Nothing is written before the disk has proved itself."""
    if case.seen.disk is None:
        return None
    return waits("disk", why=case.seen.disk, next_s=WAITING_S)


def boot_number(case: Case) -> Plan | None:
    """Each life counts one up, durable: facts of boots sort by it."""
    return None if case.seen.numbered else begins("boot-number", act=NUMBER)


def unfinished_intent(case: Case) -> Plan | None:
    """An ender wanted this machine off and could not place its hold: that comes first, whatever else stands."""
    if isinstance(case.seen.intents, Unreadable):
        return waits("stop-intent", why=case.seen.intents.why, next_s=WAITING_S)
    for intent in owed(case.seen.intents, case.seen.session):
        pairs = {"ender": intent.agent, "hold": intent.hold_id, "reason": intent.reason}
        plan = case.does("stop-intent", f"{OWED} {intent.name}", pairs)
        return replace(plan, busy=False)  # idle-guard may still end this machine
    return None


def intent_at_work(case: Case) -> Plan | None:
    """An ender of this life is about to switch the machine off: nothing is started any more."""
    if isinstance(case.seen.intents, Unreadable):
        return None
    intent = standing(case.seen.intents, case.seen.session)
    if intent is None:
        return None
    pairs = {"ender": intent.agent, "reason": intent.reason}
    return waits("stop-intent", pairs, "the machine is about to go off", next_s=WAITING_S)


def active_run(case: Case) -> Plan | None:
    """There is a run, and its record can be read."""
    if case.seen.run is None:
        return waits("no-run", why="spoteval run start NAME", next_s=WAITING_S)
    if isinstance(case.seen.run, Unreadable):
        why = case.seen.run.why
        return waits("run", why=why, needs_you=f"the run cannot be read: {why}", next_s=WAITING_S)
    return None


def draining(case: Case) -> Plan | None:
    """The hook is at work."""
    if not case.seen.draining:
        return None
    return waits("draining", why="an interruption is under way", next_s=WAITING_S)


def guest_hold(case: Case) -> Plan | None:
    """While it stands, nothing resumes; what cannot be read stands."""
    hold = case.seen.hold
    if hold is None:
        return None
    reason = f"unreadable: {hold.why}" if isinstance(hold, Unreadable) else hold or "none given"
    why = f"rm {case.policy.guest_hold}"
    return waits("guest-hold", {"hold_reason": reason}, why, next_s=WAITING_S)


def forked(case: Case) -> Plan | None:
    """A copy of this disk went on elsewhere: two machines would run the same episodes."""
    why = case.state.forked
    if why is None:
        return None
    needs = f"this disk is a copy, another machine went on from it: {why}"
    return waits("disk-forked", why=why, needs_you=needs, next_s=WAITING_S)


def epoch(case: Case) -> Plan | None:
    """The claim is asked for once before anything runs. With the store away the run resumes, and publishes nothing
    until it is claimed."""
    if case.run.claimed or case.state.epoch_tried:
        return None
    return waits("epoch", busy=True, next_s=SOON_S)


def resume(case: Case) -> Plan | None:
    """From here on the restart path is ours."""
    return None if case.run.stages.resumed else begins("resume", news=News(RESUMED))


def orphans(case: Case) -> Plan | None:
    """Processes in the run's unit that this life did not start would run episodes beside ours."""
    members = case.run.members
    if isinstance(members, Unreadable):
        return waits("run-unit", why=members.why)
    return case.does("orphans", ORPHANS, {"processes": members}) if members else None
