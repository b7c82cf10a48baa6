"""Rows 10, 11, 12 and 14: stopped, and it should stay so until a person or the provider says otherwise. Pure."""

from spoteval.control.facts import DRILL_STOP
from spoteval.decision import Decision
from spoteval.line import Value
from spoteval.provider.contract import State as ProviderState
from spoteval.shape import Unreadable
from spoteval_agents.restarter.case import Case, tenths
from spoteval_agents.restarter.cause import ON_PURPOSE
from spoteval_agents.restarter.placing import stop_hold_id
from spoteval_agents.restarter.policy import UNRESTARTABLE_POLLS
from spoteval_agents.restarter.rules import FIXED, tripped


def stopped_on_purpose(case: Case) -> Decision | None:
    """Row 10: a person or the guest switched it off, and no hold says so. It is held under the name of that stop."""
    stop, store = case.state.stop, case.seen.store
    if stop is None or stop.cause not in ON_PURPOSE or stop.held or isinstance(store, Unreadable):
        return None
    name = stop_hold_id(case.state)
    if name is None or name in store.listing.releases:
        return None
    if case.state.drill is not None or DRILL_STOP in store.newest_facts:
        return None
    pairs: dict[str, Value] = {
        "stopped_s": tenths(case.in_state_s),
        "cause": stop.cause,
        "evidence": stop.evidence,
        "hold": name,
    }
    who = "by a person" if stop.cause == "user" else "by its guest"
    why = f"it was stopped {who}, and nobody said for how long; held, {case.off_costs}"
    return case.holds_now("stopped-on-purpose", pairs, why)


def provider_restarts(case: Case) -> Decision | None:
    """Row 11: the provider itself starts it again when it has room; a start of ours would be refused."""
    obs = case.seen.understood
    if obs is None or not obs.auto_restart:
        return None
    pairs: dict[str, Value] = {"stopped_s": tenths(case.in_state_s)}
    why = "only the provider may restart it, and does when it has room: a wait for capacity"
    return case.said("provider-restarts", pairs, why)


def unrestartable(case: Case) -> Decision | None:
    """Row 12: the provider says that it can never be started again; believed at the second look."""
    if case.provider_word is not ProviderState.UNRESTARTABLE:
        return None
    polls = case.state.counts.unrestartable
    pairs: dict[str, Value] = {"stopped_s": tenths(case.in_state_s), "polls": polls}
    if polls < UNRESTARTABLE_POLLS:
        why = "the provider says that it cannot be started again; looking once more"
        return case.said("unrestartable", pairs, why)
    why = f"the provider says that it cannot be started again; held, {case.off_costs}"
    return case.holds_now("unrestartable", pairs, why)


def stop_rule(case: Case) -> Decision | None:
    """Row 14: a limit is reached. No window is open here: row 13 is before."""
    trip = tripped(case)
    if trip is None:
        return None
    pairs: dict[str, Value] = {"rule": trip.rule, **trip.pairs}
    if trip.rule in FIXED and trip.rule in case.state.waived:
        why = f"{trip.text}; nothing is started until [grant] says otherwise"
        return case.said("stop-rule", pairs, why)
    return case.holds_now("stop-rule", pairs, f"{trip.text}; held, {case.off_costs}")
