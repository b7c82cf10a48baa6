"""Events of the restarter, made in one place, and what a person was told."""

from collections.abc import Mapping
from dataclasses import replace

from spoteval.clock import Now
from spoteval.event import NEEDS_YOU, Event
from spoteval.provider.contract import Price
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.state import State

News = tuple[Event, ...]
Step = tuple[State, News]

CLEARED = "cleared"
"""What a person was told of is over."""


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


def raised(state: State, topic: str, text: str, command: str, policy: Policy, now: Now) -> Step:
    """What a person should see, with what to type; once, until `settled` says that it is over."""
    if topic in state.told:
        return state, ()
    detail = {"topic": topic, "command": command}
    event = told(NEEDS_YOU, policy, now, reason=text, detail=detail)
    return replace(state, told=(*state.told, topic)), (event,)


def settled(state: State, topic: str, text: str, policy: Policy, now: Now) -> Step:
    """It is over; once."""
    if topic not in state.told:
        return state, ()
    event = told(CLEARED, policy, now, reason=text, detail={"topic": topic})
    return replace(state, told=tuple(item for item in state.told if item != topic)), (event,)
