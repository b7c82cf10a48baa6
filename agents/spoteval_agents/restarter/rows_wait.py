"""Rows 9, 13 and 15: stopped, and not to be started yet or at all. Pure."""

from spoteval.clock import Now, left_s
from spoteval.decision import Decision
from spoteval.line import Value
from spoteval_agents.restarter.case import Case, span, tenths
from spoteval_agents.restarter.policy import guard_pause_s, since_s
from spoteval_agents.restarter.rules import retry_left_s, trying_s
from spoteval_agents.restarter.state import Ask, Assignment

LEAST_S = 1.0
"""Between two looks, however close the end of a wait is."""
_TIMES = ("", "once", "twice")


def no_run(case: Case) -> Decision | None:
    """Row 9: nobody needs the instance; a drill does, by its own run. Without a store only a hold can say so."""
    run = case.state.run
    if run is None and (case.policy.local or case.state.drill is not None):
        return None
    if run is None:
        why = "no run is assigned (spoteval run start on the guest assigns one)"
        return case.said("no-run", {}, why)
    over = over_by(run, case.now, known=case.state.over_since is not None)
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
    """Row 15: first the grace after a stop, then the loop guard's pause, then the wait after failed starts."""
    if case.in_state_s < case.policy.poll.grace_s:
        return _grace(case)
    if (decision := _loop_guard(case)) is not None:
        return decision
    wait_left_s = retry_left_s(case.state, case.policy, case.now)
    return _backoff(case, wait_left_s) if wait_left_s > 0 else None


def over_by(run: Assignment, now: Now, *, known: bool) -> str | None:
    """Why the run is over, or None. A deadline has passed only on a clock that may be believed.

    `known`: it was over at the last look; a clock that may no longer be believed takes that not back.
    """
    if run.over is not None or run.deadline is None:
        return run.over
    left = left_s(run.deadline, now)
    is_past = known if left is None else left <= 0
    return "deadline" if is_past else None


def _grace(case: Case) -> Decision:
    poll, stop = case.policy.poll, case.state.stop
    pairs: dict[str, Value] = {
        "stopped_s": tenths(case.in_state_s),
        "grace_s": tenths(poll.grace_s),
        "cause": stop.cause if stop is not None else None,
        "evidence": stop.evidence if stop is not None else None,
        "up_was_s": tenths(stop.up_was_s) if stop is not None else None,
    }
    left_s = poll.grace_s - case.in_state_s
    next_s = min(poll.in_motion_s, max(LEAST_S, tenths(left_s)))  # the look after its end starts
    return case.said("grace", pairs, f"starting in {span(left_s)}", next_s)


def _loop_guard(case: Case) -> Decision | None:
    """Short runs in a row: a pause, a longer one, and when nothing helps, a hold."""
    poll, runs = case.policy.poll, case.state.counts.short_runs
    pause_s = guard_pause_s(runs, poll.loop_guard)
    stop = case.state.stop
    pairs: dict[str, Value] = {
        "short_runs": runs,
        "limit": poll.loop_guard,
        "short_run_s": tenths(poll.short_run_s),
        "cause": stop.cause if stop is not None else None,
    }
    cause = stop.cause if stop is not None else "unknown"
    what = f"{runs} runs in a row ended within {span(poll.short_run_s)} of RUNNING (last: {cause})"
    if pause_s is None:
        return case.holds_now("loop-guard", pairs, f"{what}; held, {case.off_costs}")
    if (left_s := pause_s - case.in_state_s) <= 0:
        return None
    pairs |= {"pause_s": tenths(pause_s), "wait_left_s": tenths(left_s)}
    return case.said("loop-guard", pairs, f"{what}; next try in {span(left_s)}")


def _backoff(case: Case, wait_left_s: float) -> Decision:
    state, limit_s = case.state, case.limits.failed_starts_s
    failing_s = trying_s(state, case.policy, case.now)
    pairs: dict[str, Value] = {
        "capacity_failures": state.failures,
        "refused": state.refusal.kind if state.refusal is not None else None,
        "failing_s": tenths(failing_s) if state.failing_since is not None else None,
        "rule_failed_starts_s": tenths(limit_s) if limit_s is not None else None,
        "wait_left_s": tenths(wait_left_s),
        "advice": state.advice,
    }
    what = f"no capacity {_times(state.failures)}"
    if state.refusal is not None:
        what = f"the start was refused ({state.refusal.kind})"
    if limit_s is None:
        return case.said("backoff", pairs, f"{what}; next try in {span(wait_left_s)}")
    why = f"{what}; {span(max(0.0, limit_s - failing_s))} until hold-and-report"
    return case.said("backoff", pairs, why)


def _times(failures: int) -> str:
    return _TIMES[failures] if failures < len(_TIMES) else f"{failures} times"


def _pending(ask: Ask) -> str:
    if ask.reply is None:
        return "no answer was recorded, the start may go on; only RUNNING counts"
    if ask.reply == "accepted":
        return "the call was accepted; only RUNNING counts"
    return "the call failed, the start may go on; only RUNNING counts"
