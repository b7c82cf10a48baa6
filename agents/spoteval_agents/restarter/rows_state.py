"""Rows 3 and 7: what the provider says of the instance. Pure."""

from spoteval.decision import Decision
from spoteval.line import Value
from spoteval.provider.contract import State as ProviderState
from spoteval_agents.restarter.case import Case, tenths
from spoteval_agents.restarter.policy import since_s


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
    why = "nothing is done and nothing counted while the provider does not answer"
    if case.seen.word != "UNKNOWN":
        why = f"nothing is done and nothing counted while the provider says {case.seen.word}"
    return case.said("unknown", pairs, why)


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
