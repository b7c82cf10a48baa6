"""What is put on record before a call goes out, and what its answer adds. Pure."""

from dataclasses import replace

from spoteval.clock import Now
from spoteval.decision import Decision
from spoteval.provider.contract import Price, Reply
from spoteval.shape import Unreadable
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import Ask, State, StopAsks
from spoteval_agents.restarter.telling import Step, told

_SAYS_NOTHING_OF_CAPACITY = frozenset(["auth", "quota", "gone", "conflict", "price", "rate"])


def intend(decision: Decision, state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """The state that must be durable before `decision` is acted on, and its event."""
    if decision.word == "start":
        return _start(state, seen, policy, now)
    if decision.word == "stop":
        return _stop(decision, state, policy, now)
    return state, ()


def answered(verb: str, state: State, reply: Reply, policy: Policy, now: Now) -> Step:
    """A call was answered. The answer of a start only informs: what counts is what is observed."""
    text = "accepted" if reply.ok else f"error:{reply.detail or reply.kind}"
    event = told(f"{verb}-answered", policy, now, reason=text, evidence=reply.kind)
    if verb != "start" or state.ask is None:
        return state, (event,)
    refused = reply.kind if reply.kind in _SAYS_NOTHING_OF_CAPACITY else None
    return replace(state, ask=replace(state.ask, reply=text, refused=refused)), (event,)


def withdrawn(state: State, policy: Policy, now: Now, why: str) -> Step:
    """The start was not asked for after all; nothing is open."""
    event = told("start-withdrawn", policy, now, reason=why)
    return replace(state, ask=None, starts=state.starts - 1), (event,)


def _start(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    price = seen.price if isinstance(seen.price, Price) else None
    ask = Ask(
        at=now.mark,
        price=price,
        last_start=state.last_start,
        boot_seq=0 if isinstance(seen.store, Unreadable) else seen.store.boot_seq,
    )
    after = replace(state, ask=ask, starts=state.starts + 1)
    error = seen.price.why if isinstance(seen.price, Unreadable) else None
    detail = {"starts": after.starts, **({"price_error": error} if error is not None else {})}
    return after, (told("start-asked", policy, now, price=price, detail=detail),)


def _stop(decision: Decision, state: State, policy: Policy, now: Now) -> Step:
    count = (state.stop_asks.count if state.stop_asks is not None else 0) + 1
    hold = decision.pairs.get("hold")
    event = told("stop-asked", policy, now, evidence=f"hold:{hold}", detail={"stops": count})
    return replace(state, stop_asks=StopAsks(now.mark, count)), (event,)
