"""Rows 16, 17 and 18: the owner, the price, and the start. Pure."""

from spoteval.clock import stamp
from spoteval.decision import Decision
from spoteval.line import Value
from spoteval.provider.contract import Price
from spoteval.settings.money import Money
from spoteval.shape import Unreadable
from spoteval_agents.restarter.case import Case, span, tenths
from spoteval_agents.restarter.policy import FRESH_S, OWNER_POLLS, own_identity, since_s


def not_owner(case: Case) -> Decision | None:
    """Row 16: another restarter serves it, or this one has taken it over so lately that the other may not know."""
    if case.policy.identity is None:
        return None
    own, owner = own_identity(case.policy), case.state.owner
    if isinstance(case.policy.identity, Unreadable):
        pairs: dict[str, Value] = {"error": case.policy.identity.why}
        return case.said("not-owner", pairs, "this host has no name, and so owns nothing")
    if owner is None:
        why = "nobody owns it yet; this restarter takes it over"
        return case.said("not-owner", {"owner": "none"}, why, case.policy.poll.in_motion_s)
    if owner.identity != own:
        why = (
            f"another restarter serves it; to move it here:"
            f" spoteval restarter adopt {case.policy.instance}"
        )
        return case.said("not-owner", {"owner": owner.identity[:8]}, why)
    if owner.polls <= OWNER_POLLS:
        why = f"taken over just now; nothing is started for {OWNER_POLLS} looks"
        pairs = {"owner": "this", "polls": owner.polls}
        return case.said("not-owner", pairs, why, case.policy.poll.in_motion_s)
    return None


def price(case: Case) -> Decision | None:
    """Row 17: the price is read before every start, also without a cap, so that it is on record."""
    found, limits = case.seen.price, case.limits
    cap = limits.price_cap
    if found is None:
        return Decision("price", asks="price")
    if isinstance(found, Unreadable):
        limit = cap if cap is not None else limits.spend
        return _unreadable(case, limit, found.why) if limit is not None else None
    if cap is None:
        return None
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
        **(_priced(found, case.limits.price_cap) if isinstance(found, Price) else {}),
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


def _unreadable(case: Case, limit: Money, error: str) -> Decision:
    name = f"cap_per_{limit.per}" if limit.per is not None else "spend_limit"
    pairs: dict[str, Value] = {
        "error": error,
        name: _money(limit.amount),
        "currency": limit.currency,
    }
    what = "a cap" if limit.per is not None else "a spend limit"
    why = f"{what} is set and no price can be held against it: nothing is started"
    return case.said("price-unknown", pairs, why)


def _incomparable(found: Price, cap: Money) -> str | None:
    per = cap.per if cap.per is not None else "hour"
    if (found.currency, found.per) == (cap.currency, per):
        return None
    return f"price in {found.currency} per {found.per}, cap in {cap.currency} per {per}"


def _owner_changed(case: Case) -> bool:
    """Whether the second LIST names other owners than the first."""
    store, first = case.seen.store, case.seen.first_owners
    if isinstance(store, Unreadable) or first is None:
        return False
    return store.listing.owners != first


def _as_of(found: Price) -> str:
    """A price from a file has a date, one from the provider a moment."""
    return found.as_of.date().isoformat() if found.kind == "configured" else stamp(found.as_of)


def _money(amount: float) -> str:
    return f"{amount:.2f}"
