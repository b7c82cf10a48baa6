"""What a person should see: conditions that last, each told once when it begins and once when it is over. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spoteval.clock import Now, left_s, stamp
from spoteval.config.grant import looser
from spoteval_agents.restarter.case import NO_RULES, Case, span
from spoteval_agents.restarter.lives import cost
from spoteval_agents.restarter.policy import (
    REPORT_OUTAGE_S,
    REPORT_UNHEARD_POLLS,
    REPORT_UNKNOWN_S,
    UNDONE_STOPS,
    Policy,
    since_s,
)
from spoteval_agents.restarter.rules import run_spent
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import State
from spoteval_agents.restarter.telling import News, Step, raised, settled

_CALLS_A_PERSON = frozenset(["auth", "quota", "gone", "price"])


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing to tell: its text while it lasts, None when it is over. `blind`: it can be told without the
    provider's answer; the others stay as they are while there is none."""

    topic: str
    text: Callable[[Case], str | None]
    over: str
    command: str = "spoteval status"
    blind: bool = False


def see_reports(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """Tell what has begun, and what is over."""
    case = Case(state, seen, policy, now)
    news: News = ()
    for condition in CONDITIONS:
        if seen.understood is None and not condition.blind:
            continue
        state, more = _told(state, condition, case)
        news = (*news, *more)
    return state, news


def _told(state: State, condition: Condition, case: Case) -> Step:
    text = condition.text(case)
    if text is None:
        return settled(state, condition.topic, condition.over, case.policy, case.now)
    command = condition.command.format(case.policy.instance)
    return raised(state, condition.topic, text, command, case.policy, case.now)


def _unknown(case: Case) -> str | None:
    unknown = case.state.unknown
    if unknown is None or (seconds := since_s(unknown.since, case.now)) < REPORT_UNKNOWN_S:
        return None
    return f"the provider has said nothing that is understood for {span(seconds)}: {unknown.error}"


def _unheard(case: Case) -> str | None:
    error = case.seen.holds_error
    if case.state.unheard < REPORT_UNHEARD_POLLS or error is None:
        return None
    return f"no start: holds cannot be read: {error}"


def _outage(case: Case) -> str | None:
    away = case.state.away
    if away is None or (seconds := since_s(away.since, case.now)) < REPORT_OUTAGE_S:
        return None
    if "hold-unknown" in case.state.told:
        return None
    return f"the store has been away for {span(seconds)}, nothing is started: {away.error}"


def _silent(case: Case) -> str | None:
    if case.state.silent is None:
        return None
    return f"RUNNING for {span(case.in_state_s)} {case.on_costs} without a sign of its guest"


def _stuck(case: Case) -> str | None:
    if not case.stuck:
        return None
    return f"STARTING for {span(case.in_state_s)}: the start neither comes to RUNNING nor fails"


def _undone(case: Case) -> str | None:
    undone = case.state.counts.undone
    if undone < UNDONE_STOPS:
        return None
    return f"stopped {undone} times under a hold and started again by others; on {case.on_costs}"


def _not_off(case: Case) -> str | None:
    """Asked to stop more than once, and still on."""
    asks = case.state.stop_asks
    if asks is None or asks.count < 2 or not case.on:
        return None
    return f"still {case.seen.word} after {asks.count} stop requests, billed {case.on_costs}"


def _billed(case: Case) -> str | None:
    """Stopped by its word, and billed all the same."""
    obs = case.seen.understood
    is_billed = obs is not None and obs.billed is True and case.seen.word == "STOPPED"
    if not is_billed or case.in_state_s < case.policy.poll.grace_s:
        return None
    return f"STOPPED for {span(case.in_state_s)} and billed all the same, {case.on_costs}"


def _refused(case: Case) -> str | None:
    refusal = case.state.refusal
    if refusal is None or refusal.kind not in _CALLS_A_PERSON:
        return None
    return f"the provider refuses the start: {refusal.kind}"


def _looser(case: Case) -> str | None:
    """A run asks for more than is granted. What was typed on the guest, which knows no grant, is answered here."""
    run = case.state.run
    asks = run is not None and run.rules != NO_RULES
    lines = looser(case.policy.grant, run.rules) if run is not None and asks else ()
    return (
        f"run {run.run}: {'; '.join(lines)}; [grant] stands" if run is not None and lines else None
    )


def _limits(case: Case) -> str | None:
    """A limit is reached while it runs. It runs on; what is not started again is the next one."""
    reached = list(_reached(case)) if case.state.life is not None else []
    if not reached:
        return None
    return f"{' and '.join(reached)} while it runs; it is not started again"


def _reached(case: Case) -> Iterator[str]:
    life, spend, until = case.state.life, case.limits.spend, case.policy.grant.until
    if spend is not None and life is not None:
        spent = run_spent(case.state) + cost(life, since_s(life.since, case.now))
        if spent >= spend.amount:
            yield f"{spent:.2f} of {spend.amount:.2f} {spend.currency} spent"
    left = left_s(until, case.now) if until is not None else None
    if until is not None and left is not None and left <= 0:
        yield f"granted until {stamp(until)}"


CONDITIONS = (
    Condition("unknown", _unknown, "the provider answers again", blind=True),
    Condition("hold-unknown", _unheard, "holds can be read again", blind=True),
    Condition("store", _outage, "the store can be read again", blind=True),
    Condition("silent", _silent, "the guest has said that it booted, or is off"),
    Condition("start-stuck", _stuck, "it is no longer STARTING"),
    Condition("stop-undone", _undone, "nobody undoes its stops", "spoteval hold show {}"),
    Condition("not-off", _not_off, "it is off"),
    Condition("billed", _billed, "it is not billed while it is stopped"),
    Condition("start-refused", _refused, "its starts are no longer refused"),
    Condition("looser", _looser, "the run asks for no more than [grant]", blind=True),
    Condition("limits", _limits, "it is within its limits, or off", "spoteval stop {}"),
)
