"""Events of the restarter, made in one place."""

from collections.abc import Mapping

from spoteval.clock import Now
from spoteval.event import NEEDS_YOU, Event
from spoteval.provider.contract import Price
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.state import State

News = tuple[Event, ...]
Step = tuple[State, News]


def told(
    kind: str,
    policy: Policy,
    now: Now,
    *,
    reason: str | None = None,
    evidence: str | None = None,
    price: Price | None = None,
    detail: Mapping[str, object] | None = None,
) -> Event:
    """An event of this instance, now."""
    return Event(
        at=now.wall,
        kind=kind,
        source="restarter",
        instance=policy.instance,
        reason=reason,
        evidence=evidence,
        price=price.record() if price is not None else None,
        detail=detail if detail is not None else {},
    )


def report(policy: Policy, now: Now, reason: str) -> Event:
    """What a person should see."""
    return told(NEEDS_YOU, policy, now, reason=reason)
