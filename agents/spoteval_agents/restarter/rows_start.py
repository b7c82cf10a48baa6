"""Rows 17 and 18: the price, and the start. Pure."""

from spoteval.clock import stamp
from spoteval.config.shared import Money
from spoteval.decision import Decision
from spoteval.line import Value
from spoteval.provider.contract import Price
from spoteval.shape import Unreadable
from spoteval_agents.restarter.case import Case, span, tenths
from spoteval_agents.restarter.policy import FRESH_S, since_s


def price(case: Case) -> Decision | None:
    """Row 17: the price is read before every start, also without a cap, so that it is on record."""
    found, cap = case.seen.price, case.policy.cap
    if found is None:
        return Decision("price", asks="price")
    if cap is None:
        return None
    if isinstance(found, Unreadable):
        return _unreadable(case, cap, found.why)
    if (why := _incomparable(found, cap)) is not None:
        return _unreadable(case, cap, why)
    if found.amount <= cap.amount:
        return None
    return case.said(
        "price",
        _priced(found, cap),
        f"above the cap; read again in {span(case.policy.poll.every_s)}",
    )


def fresh_start(case: Case) -> Decision:
    """Row 18: exactly one start request, if nothing that was seen is old by now."""
    age_s = since_s(case.seen.taken, case.now)
    if age_s >= FRESH_S:
        why = f"the look is older than {FRESH_S:.0f} s; looking again"
        return case.said("changed", {"observation_age_s": tenths(age_s)}, why)
    if _owner_changed(case):
        return case.said("changed", {}, "another restarter appeared in between; looking again")
    poll, state, found = case.policy.poll, case.state, case.seen.price
    pairs: dict[str, Value] = {
        "stopped_s": tenths(case.in_state_s),
        "starts": state.starts + 1,
        **(_priced(found, case.policy.cap) if isinstance(found, Price) else {}),
        "price_error": found.why if isinstance(found, Unreadable) else None,
        "spent": _money(state.spent),
        "window_s": tenths(poll.start_window_s),
    }
    return case.said("start", pairs, next_s=poll.in_motion_s)


def _priced(found: Price, cap: Money | None) -> dict[str, Value]:
    return {
        f"price_per_{found.per}": _money(found.amount),
        "currency": found.currency,
        "price_kind": found.kind,
        "price_as_of": _as_of(found),
        f"cap_per_{found.per}": _money(cap.amount) if cap is not None else None,
    }


def _unreadable(case: Case, cap: Money, error: str) -> Decision:
    pairs: dict[str, Value] = {
        "error": error,
        f"cap_per_{cap.per or 'hour'}": _money(cap.amount),
        "currency": cap.currency,
    }
    why = "a cap is set and no price can be held against it: nothing is started"
    return case.said("price-unknown", pairs, why)


def _incomparable(found: Price, cap: Money) -> str | None:
    per = cap.per if cap.per is not None else "hour"
    if (found.currency, found.per) == (cap.currency, per):
        return None
    return f"price in {found.currency} per {found.per}, cap in {cap.currency} per {per}"


def _owner_changed(case: Case) -> bool:
    """Whether the second LIST names other owners than the first."""
    store, first = case.seen.store, case.seen.first_owners
    return not isinstance(store, Unreadable) and first is not None and store.listing.owners != first


def _as_of(found: Price) -> str:
    """A price from a file has a date, one from the provider a moment."""
    return found.as_of.date().isoformat() if found.kind == "configured" else stamp(found.as_of)


def _money(amount: float) -> str:
    return f"{amount:.2f}"
