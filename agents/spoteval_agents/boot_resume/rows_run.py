"""Stages of the run itself: running, settled, complete, failing, started. Pure."""

from spoteval.clock import left_s
from spoteval.control.markers import RUN_ASKED
from spoteval.line import Value
from spoteval.shape import Unreadable
from spoteval_agents.boot_resume.case import SOON_S, WAITING_S, Case, begins, shown_s, waits
from spoteval_agents.boot_resume.seen import News, Plan
from spoteval_agents.boot_resume.stages import MARK

SETTLE, PREFLIGHT, START, HOLD = "settle", "preflight", "start-run", "hold-guest"
"""Names of acts and of slow work."""


def running(case: Case) -> Plan | None:
    """Our run works: watch it, closely until its first episode has begun."""
    run = case.run
    if not run.members or isinstance(run.members, Unreadable) or not run.stages.ours:
        return None
    if run.complete is True:
        return waits("complete", {"run": run.record.name}, "the end is end-handler's")
    pairs: dict[str, Value] = {
        "run": run.record.name,
        "processes": run.members,
        "elapsed_s": shown_s(case.since_s(run.stages.started)),
    }
    if run.stages.first_episode:
        return waits("running", pairs, next_s=SOON_S if case.state.missing else WAITING_S)
    return waits("first-episode", pairs, busy=True, next_s=SOON_S)


def settlement(case: Case) -> Plan | None:
    """Whatever was cut is written down before anything runs again, and needs no server for it."""
    return None if case.run.stages.settled else case.does("settlement", SETTLE)


def complete(case: Case) -> Plan | None:
    """Nothing is left to run, or the time for it is over: the end is end-handler's."""
    run = case.run
    if isinstance(run.complete, Unreadable):
        return waits("complete", why=run.complete.why)
    why = _over(case)
    return waits("complete", {"run": run.record.name}, why, next_s=WAITING_S) if why else None


def _over(case: Case) -> str | None:
    run = case.run
    if run.complete:
        return "the end is end-handler's"
    if run.stages.unfinished == 0:
        return "nothing is left to run; the follower has not written all of it down yet"
    if run.finishing:
        return "a person has declared it over; the end is end-handler's"
    deadline = run.record.plan.deadline
    remaining_s = left_s(deadline, case.now) if deadline is not None else None
    if remaining_s is not None and remaining_s <= 0:
        return f"deadline {deadline:%Y-%m-%d %H:%M} UTC is past; the end is end-handler's"
    return None


def failing(case: Case) -> Plan | None:
    """A run that ends without being complete is started again a few times, then a person looks."""
    fails, policy = case.run.stages.fails, case.policy
    if fails > policy.restarts:
        needs = f"run {case.run.record.name} ended {fails} times without being complete"
        why = f"journalctl -u spoteval-run; then touch and rm {policy.guest_hold}"
        return waits("run-fails", {"ends": fails}, why, needs, next_s=WAITING_S)
    return None


def preflight(case: Case) -> Plan | None:
    """The user's own check, bounded; what it finds is for a person, who lifts the hold when it is mended."""
    run = case.run
    if run.stages.preflight or not run.record.plan.preflight:
        return None
    found = case.state.failed.get(PREFLIGHT)
    if found is None:
        return case.does("preflight", PREFLIGHT, {"limit_s": run.record.plan.preflight_within_s})
    return held("preflight", f"preflight failed: {found[0]}")


def held(stage: str, reason: str) -> Plan:
    """Place the guest hold and tell a person: the next cycle waits under it."""
    plan = waits(stage, why=reason, needs_you=reason, next_s=0.0)
    command = "spoteval hold show"  # says what the hold is and what lifts it
    return Plan(plan.decision, needs_you=reason, command=command, act=HOLD, next_s=0.0)


def start(case: Case) -> Plan:
    """Ask for the run's unit once, and wait until its processes are there."""
    run = case.run
    if run.stages.asked is not None:
        pairs = {"elapsed_s": shown_s(case.since_s(run.stages.asked))}
        return waits("run-start", pairs, busy=True, next_s=SOON_S)
    pause_s = _pause_s(case)
    if pause_s > 0:
        pairs = {"ends": run.stages.fails, "left_s": shown_s(pause_s)}
        return waits("run-pause", pairs, "it ended without being complete", busy=True)
    news = News(RUN_ASKED, detail={MARK: case.now.record(), "again": run.stages.fails})
    return begins("run-start", {"run": run.record.name}, news=news, act=START)


def _pause_s(case: Case) -> float:
    """Seconds left of the pause after a failure; longer after each."""
    stages, pauses_s = case.run.stages, case.policy.restart_pauses_s
    if stages.fails == 0 or stages.gone is None:
        return 0.0
    return pauses_s[min(stages.fails, len(pauses_s)) - 1] - case.since_s(stages.gone)
