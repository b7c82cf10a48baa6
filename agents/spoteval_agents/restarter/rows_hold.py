"""Rows 1 and 8: holds that stand, and holds that may stand. Pure."""

from spoteval.decision import Decision
from spoteval.line import Value
from spoteval_agents.restarter.case import FILE_HOLD, Case, hold_text, span, tenths
from spoteval_agents.restarter.policy import UNDONE_STOPS, since_s
from spoteval_agents.restarter.state import KnownHold

BY_ITSELF = (
    "the provider may restart it all the same: only the guest hold keeps its run from going on"
)
"""After its own stop of a persistent request, EC2 asks nobody."""


def known_hold(case: Case) -> Decision | None:
    """Row 1: nothing is started; where a hold wants it, what still costs is stopped after the hold's grace."""
    if not case.state.held:
        return None
    wanting = case.stop_hold
    if wanting is None or not case.on:
        return _held(case, _how_to_lift(case))
    if (left_s := case.stop_in_s(wanting)) > 0:
        return _held(case, f"{_how_to_lift(case)}; the instance is stopped in {span(left_s)}")
    if case.state.counts.undone >= UNDONE_STOPS:
        return _undone(case, wanting)
    if (wait_s := case.stop_wait_s) > 0:
        return _held(case, f"{_how_to_lift(case)}; a stop was asked for, again in {span(wait_s)}")
    return _stop(case, wanting)


def hold_unknown(case: Case) -> Decision | None:
    """Row 8: a hold that cannot be read is a hold."""
    error = case.seen.holds_error
    if error is None:
        return None
    pairs: dict[str, Value] = {"error": error, "repeats": case.state.unheard}
    return case.said(
        "hold-unknown", pairs, "a hold may stand: nothing is started until holds can be read"
    )


def _held(case: Case, why: str) -> Decision:
    obs = case.seen.understood
    if obs is not None and obs.auto_restart:
        why = f"{why}; {BY_ITSELF}"
    name, age_s, reason = _first(case)
    pairs: dict[str, Value] = {
        "billed": _billed(case),
        "hold": name,
        "hold_age_s": tenths(age_s),
        "hold_reason": reason,
    }
    return case.said("held", pairs, why)


def _stop(case: Case, item: KnownHold) -> Decision:
    asks = case.state.stop_asks
    pairs: dict[str, Value] = {
        "billed": _billed(case),
        "hold": item.hold.id,
        "hold_age_s": tenths(since_s(item.since, case.now)),
        "stop_after_s": tenths(item.hold.stop_after_s),
        "stops": (asks.count if asks is not None else 0) + 1,
        "hold_reason": hold_text(item.hold),
    }
    why = "the hold wants it stopped and it still runs or is billed"
    return case.said("stop", pairs, why, case.policy.poll.in_motion_s)


def _undone(case: Case, item: KnownHold) -> Decision:
    pairs: dict[str, Value] = {
        "billed": _billed(case),
        "hold": item.hold.id,
        "hold_age_s": tenths(since_s(item.since, case.now)),
        "undone": case.state.counts.undone,
        "hold_reason": hold_text(item.hold),
    }
    why = f"it is started again whenever it was stopped, and is on {case.on_costs}: by whom?"
    return case.said("stop-undone", pairs, why)


def _first(case: Case) -> tuple[str, float, str]:
    """Name, age and reason of the hold that the line is about: the touch file before those of the store."""
    if (file_hold := case.state.file_hold) is not None:
        return FILE_HOLD, since_s(file_hold.since, case.now), file_hold.reason
    item = case.state.holds[0]
    return item.hold.id, since_s(item.since, case.now), hold_text(item.hold)


def _how_to_lift(case: Case) -> str:
    if case.state.file_hold is not None:
        return f"rm {case.policy.hold_path}"
    return f"spoteval hold release {case.policy.instance}"


def _billed(case: Case) -> bool | None:
    obs = case.seen.understood
    return obs.billed if obs is not None else None
