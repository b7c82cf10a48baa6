"""Rows 9, 13 and 15: stopped, and not to be started yet or at all. Pure."""

from spoteval.clock import left_s
from spoteval.decision import Decision
from spoteval.line import Value
from spoteval_agents.restarter.case import Case, span, tenths
from spoteval_agents.restarter.policy import backoff_s, since_s
from spoteval_agents.restarter.state import Ask, Assignment

_TIMES = ("", "once", "twice")


def no_run(case: Case) -> Decision | None:
    """Row 9: nobody needs the instance."""
    run = case.state.run
    if run is None:
        why = "no run is assigned (spoteval run start on the guest assigns one)"
        return case.said("no-run", {}, why)
    over = run.over if run.over is not None else _past(case, run)
    if over is None:
        return None
    why = f"run {run.run} is over; to start the instance by hand: spoteval start {case.policy.instance}"
    return case.said("run-over", {"run": run.run, "evidence": over}, why)


def start_pending(case: Case) -> Decision | None:
    """Row 13: a start request may be open, whatever its call answered; there is never a second one."""
    ask = case.state.ask
    if ask is None:
        return None
    asked_s = since_s(ask.at, case.now)
    window_left_s = tenths(max(0.0, case.policy.poll.start_window_s - asked_s))
    if ask.recovered:
        why = "the memory of this instance was damaged: a start may be open, so its window passes first"
        return case.said("recovering", {"window_left_s": window_left_s}, why)
    reply = ask.reply if ask.reply is not None else "none"
    pairs: dict[str, Value] = {
        "asked_s": tenths(asked_s),
        "reply": reply,
        "window_left_s": window_left_s,
    }
    return case.said("start-pending", pairs, _pending(ask))


def waiting(case: Case) -> Decision | None:
    """Row 15: first the grace after a stop, then the wait after failed starts."""
    poll, state = case.policy.poll, case.state
    if case.in_state_s < poll.grace_s:
        return _grace(case)
    if state.failed_at is None:
        return None
    wait_s = backoff_s(state.failures, poll.start_window_s, poll.backoff_max_s)
    wait_left_s = wait_s - since_s(state.failed_at, case.now)
    return _backoff(case, wait_left_s) if wait_left_s > 0 else None


def _grace(case: Case) -> Decision:
    poll, stop = case.policy.poll, case.state.stop
    pairs: dict[str, Value] = {
        "stopped_s": tenths(case.in_state_s),
        "grace_s": tenths(poll.grace_s),
        "cause": stop.cause if stop is not None else None,
        "evidence": stop.evidence if stop is not None else None,
        "up_was_s": tenths(stop.up_was_s) if stop is not None else None,
    }
    why = f"starting in {span(poll.grace_s - case.in_state_s)}"
    return case.said("grace", pairs, why, poll.in_motion_s)


def _backoff(case: Case, wait_left_s: float) -> Decision:
    state = case.state
    since = state.failing_since
    pairs: dict[str, Value] = {
        "capacity_failures": state.failures,
        "failing_s": tenths(since_s(since, case.now)) if since is not None else None,
        "wait_left_s": tenths(wait_left_s),
    }
    times = _TIMES[state.failures] if state.failures < len(_TIMES) else f"{state.failures} times"
    return case.said("backoff", pairs, f"no capacity {times}; next try in {span(wait_left_s)}")


def _pending(ask: Ask) -> str:
    if ask.reply is None:
        return "no answer was recorded, the start may go on; only RUNNING counts"
    if ask.reply == "accepted":
        return "the call was accepted; only RUNNING counts"
    return "the call failed, the start may go on; only RUNNING counts"


def _past(case: Case, run: Assignment) -> str | None:
    """A deadline has passed only on a clock that may be believed."""
    left = left_s(run.deadline, case.now) if run.deadline is not None else None
    return "deadline" if left is not None and left <= 0 else None
