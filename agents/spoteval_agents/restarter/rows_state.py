"""Rows 2 to 7: what the provider says of the instance. Pure."""

from spoteval.decision import Decision
from spoteval.line import Value
from spoteval.provider.contract import State as ProviderState
from spoteval.shape import Unreadable
from spoteval_agents.restarter.case import STOP, Case, span, tenths
from spoteval_agents.restarter.policy import (
    GONE_POLLS,
    GONE_S,
    KEEP_FRESH_S,
    OVER_S,
    SILENT_S,
    since_s,
)


def gone(case: Case) -> Decision | None:
    """Row 2: absent for several looks and minutes; one 404 is no proof."""
    absent = case.state.absent
    if absent is None or case.seen.word != ProviderState.GONE.value:
        return None
    absent_s = since_s(absent.since, case.now)
    if absent.polls < GONE_POLLS or absent_s < GONE_S:
        return None
    pairs: dict[str, Value] = {
        "last_state": case.state.word,
        "absent_s": tenths(absent_s),
        "polls": absent.polls,
    }
    why = f"the provider has known no such instance for {span(absent_s)}; held"
    return case.holds_now("gone", pairs, why)


def not_understood(case: Case) -> Decision | None:
    """Row 3: no answer, or one that no row understands. Nothing is done, no counter moves."""
    unknown = case.state.unknown
    if case.seen.understood is not None or unknown is None:
        return None
    pairs: dict[str, Value] = {
        "last_state": case.state.word,
        "unknown_s": tenths(since_s(unknown.since, case.now)),
        "error": unknown.error,
        "repeats": unknown.repeats,
    }
    return case.said("unknown", pairs, f"nothing is done and nothing counted while {_says(case)}")


def _says(case: Case) -> str:
    """What the provider does instead of telling a state."""
    if case.seen.word != "UNKNOWN":
        return f"the provider says {case.seen.word}"
    kind = case.state.unknown.kind if case.state.unknown is not None else "unknown"
    if kind in ("timeout", "unknown"):
        return "the provider does not answer"
    return f"the provider refuses to say ({kind})"


def over_running(case: Case) -> Decision | None:
    """Row 4: it runs though its run is over, and both who should have ended it have not. The third ender."""
    state = case.state
    if case.provider_word is not ProviderState.RUNNING or state.over_since is None:
        return None
    if isinstance(case.seen.store, Unreadable):  # somebody may keep it on and say so there
        return None
    over_s = min(since_s(state.over_since, case.now), case.in_state_s)
    kept = state.keep is not None and since_s(state.keep.since, case.now) < KEEP_FRESH_S
    if over_s < OVER_S or kept:
        return None
    pairs: dict[str, Value] = {
        "up_s": tenths(case.in_state_s),
        "run": state.run.run if state.run is not None else None,
        "over_s": tenths(over_s),
        "limit_s": tenths(OVER_S),
    }
    why = f"the run has been over for {span(over_s)} and the machine is on {case.on_costs}; held"
    return case.holds_now("over-running", pairs, why)


def silent(case: Case) -> Decision | None:
    """Row 5: it has run for long and its guest never said that it booted."""
    since = case.state.silent
    if since is None or isinstance(case.seen.store, Unreadable):
        return None
    silent_s = since_s(since, case.now)
    pairs: dict[str, Value] = {
        "up_s": tenths(case.in_state_s),
        "limit_s": tenths(SILENT_S),
        "silent_s": tenths(silent_s),
    }
    what = f"RUNNING for {span(case.in_state_s)} {case.on_costs} and no sign of its guest"
    if silent_s >= SILENT_S:
        return case.holds_now("silent", pairs, f"{what}; held")
    return case.said("silent", pairs, f"{what}; held in {span(SILENT_S - silent_s)}")


def start_stuck(case: Case) -> Decision | None:
    """Row 6: one stop request, where the provider takes one for an instance that is still starting."""
    if not case.stuck:
        return None
    asks = case.state.stop_asks
    pairs: dict[str, Value] = {
        "starting_s": tenths(case.in_state_s),
        "window_s": tenths(case.policy.poll.start_window_s),
        "capacity_failures": case.state.failures,
        "stops": asks.count if asks is not None else 0,
    }
    what = f"STARTING for {span(case.in_state_s)}"
    if not case.policy.cancels:
        why = f"{what}, and this provider stops nothing that is starting: look at its console"
        return case.said("start-stuck", pairs, why)
    if asks is not None:
        why = f"{what}; its stop was asked for {span(since_s(asks.at, case.now))} ago"
        return case.said("start-stuck", pairs, f"{why}: look at the provider's console")
    pairs |= {"stops": 1, "action": STOP}
    return case.said("start-stuck", pairs, f"{what}; one stop request goes out")


def moving(case: Case) -> Decision | None:
    """Row 7: it is on, or on its way up or down."""
    word = case.provider_word
    if word is ProviderState.RUNNING:
        return case.said("running", _running(case), next_s=case.policy.poll.every_s)
    if word is ProviderState.STARTING:
        return case.said("starting", _starting(case), next_s=case.policy.poll.in_motion_s)
    if word is ProviderState.STOPPING:
        pairs: dict[str, Value] = {"stopping_s": tenths(case.in_state_s)}
        return case.said("stopping", pairs, next_s=case.policy.poll.in_motion_s)
    return None


def _running(case: Case) -> dict[str, Value]:
    run, guest = case.state.run, case.seen.guest
    pairs: dict[str, Value] = {
        "up_s": tenths(case.in_state_s),
        "run": run.run if run is not None else None,
    }
    if guest is None:
        return pairs
    return pairs | {
        "finished": guest.finished,
        "intended": guest.intended,
        "in_flight": guest.in_flight,
        "guest_age_s": tenths(guest.age_s) if guest.age_s is not None else None,
    }


def _starting(case: Case) -> dict[str, Value]:
    ask = case.state.ask
    if ask is None or ask.recovered:
        return {"starting_s": tenths(case.in_state_s)}
    asked_s = since_s(ask.at, case.now)
    left_s = max(0.0, case.policy.poll.start_window_s - asked_s)
    return {"asked_s": tenths(asked_s), "window_left_s": tenths(left_s)}
