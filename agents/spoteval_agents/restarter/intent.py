"""What is put on record before a call goes out, and what its answer adds. Pure."""

from dataclasses import replace
from datetime import timedelta

from spoteval.clock import Mark, Now
from spoteval.decision import Decision
from spoteval.event import REHEARSAL
from spoteval.provider.contract import Price, Reply
from spoteval.shape import Unreadable
from spoteval_agents.restarter.case import HOLD, STOP
from spoteval_agents.restarter.cause import rehearsed
from spoteval_agents.restarter.placing import hold_for
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.rules import retry_left_s
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import Ask, KnownHold, State, StopAsks
from spoteval_agents.restarter.telling import Step, raised, told

_SAYS_NOTHING_OF_CAPACITY = frozenset(["auth", "quota", "gone", "conflict", "price", "rate"])


def intend(decision: Decision, state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """The state that must be durable before `decision` is acted on, and its event."""
    if decision.word == "start":
        return _start(state, seen, policy, now)
    action = decision.pairs.get("action")
    if decision.word == "stop" or action == STOP:
        return _stop(decision, state, policy, now)
    return _hold(decision, state, policy, now) if action == HOLD else (state, ())


def answered(verb: str, state: State, reply: Reply, policy: Policy, now: Now) -> Step:
    """A call was answered. The answer of a start only informs: what counts is what is observed."""
    text = "accepted" if reply.ok else f"error:{reply.detail or reply.kind}"
    event = told(f"{verb}-answered", policy, now, reason=text, evidence=reply.kind)
    if verb != "start" or state.ask is None:
        return state, (event,)
    refused = reply.kind if reply.kind in _SAYS_NOTHING_OF_CAPACITY else None
    rated = state.counts.rated + 1 if reply.kind == "rate" else 0
    ask = replace(state.ask, reply=text, refused=refused)
    advice = reply.advice if reply.advice is not None else state.advice
    counts = replace(state.counts, rated=rated)
    return replace(state, ask=ask, advice=advice, counts=counts), (event,)


def placed(state: State, hold_id: str) -> State:
    """The hold is where others can see it."""
    holds = (
        replace(item, placed=True) if item.hold.id == hold_id else item for item in state.holds
    )
    return replace(state, holds=tuple(holds))


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
    after = replace(
        state,
        ask=ask,
        starts=state.starts + 1,
        failing_since=_without_wait(state, policy, now),
    )
    error = seen.price.why if isinstance(seen.price, Unreadable) else None
    detail: dict[str, object] = {"starts": after.starts, "boot_seq": ask.boot_seq}
    if error is not None:
        detail["price_error"] = error
    if rehearsed(state):
        detail[REHEARSAL] = True
    return after, (told("start-asked", policy, now, price=price, detail=detail),)


def _stop(decision: Decision, state: State, policy: Policy, now: Now) -> Step:
    count = (state.stop_asks.count if state.stop_asks is not None else 0) + 1
    hold = decision.pairs.get("hold")
    evidence = f"hold:{hold}" if hold is not None else decision.word
    event = told("stop-asked", policy, now, evidence=evidence, detail={"stops": count})
    return replace(state, stop_asks=StopAsks(now.mark, count)), (event,)


def _hold(decision: Decision, state: State, policy: Policy, now: Now) -> Step:
    """A hold of the restarter's own: known, and so obeyed, from here on; a person is told once."""
    hold = hold_for(decision, policy, now)
    own = KnownHold(hold, now.mark, placed=False, local=policy.local)
    holds = sorted((*state.holds, own), key=lambda item: item.hold.id)
    detail = {**hold.record(), "own": True, "local": policy.local}
    event = told(
        "hold-seen", policy, now, reason=hold.reason, evidence=decision.word, detail=detail
    )
    text = f"held: {hold.reason}"
    command = f"spoteval hold release {policy.instance}"
    after = replace(state, holds=tuple(holds))
    after, news = raised(after, hold.id, text, command, policy, now)
    return after, (event, *news)


def _without_wait(state: State, policy: Policy, now: Now) -> Mark | None:
    """Since when starts fail, moved on by the time in which something else than that kept it from trying."""
    since = state.failing_since
    if since is None:
        return None
    idle_s = max(0.0, -retry_left_s(state, policy, now))
    return Mark(since.wall + timedelta(seconds=idle_s), since.mono_s + idle_s, since.boot)
