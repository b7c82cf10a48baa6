"""Whether anything uses the machine, and the next step towards its end where nothing does."""

from spoteval.clock import Now, elapsed_s
from spoteval.control.enders import HOLD_WITHIN_S, ROUNDS, Ender, rounds
from spoteval.decision import Decision
from spoteval.line import Value
from spoteval.shape import Unreadable
from spoteval_agents.idle_guard.reports import is_blind
from spoteval_agents.idle_guard.seen import AGENT, Policy, Seen, State
from spoteval_agents.idle_guard.uses import found, uses

SOON_S = 1.0
FRESH_S = 15.0
"""How old the word of GPUs and servers may be for the last look before the end."""


def observe(state: State, seen: Seen, policy: Policy, now: Now) -> State:
    """Idleness begins with the first look that sees none, and ends with the first that does."""
    used = found(seen, policy)
    if used:
        since = (state.blind_since or now.mark) if is_blind(used) else None
        return State(blind_since=since)
    if not seen.known:
        return State(idle_since=state.idle_since)
    return State(idle_since=state.idle_since or now.mark)


def own_intent(seen: Seen) -> Ender | None:
    """The intent of this session that stands; one that cannot be read stands too, under another name."""
    intents = seen.intents if not isinstance(seen.intents, Unreadable) else ()
    own = [item for item in intents if item.session == seen.session and not item.withdrawn]
    own = [item for item in own if item.agent == AGENT]
    return own[-1] if own else None


def decide(state: State, seen: Seen, policy: Policy, now: Now) -> Decision:
    """The first row that fits."""
    reasons, intent = uses(seen, policy), own_intent(seen)
    idle_s = elapsed_s(state.idle_since, now) if state.idle_since is not None else None
    if seen.draining and intent is not None:
        why = "the machine is being stopped; looked at again should it go on"
        return _said("going", seen, {"hold": intent.hold_id}, why)
    if reasons and intent is not None:
        return _withdraw(seen, intent, reasons)
    if reasons:
        return _said("active", seen, {"because": "; ".join(reasons), "idle_s": 0})
    if not seen.known:
        return _said("look", seen, {}, "nobody knows yet how busy the machine is")
    if intent is None and (idle_s is None or idle_s < policy.after_s):
        return _waiting(seen, policy, idle_s or 0.0)
    if isinstance(seen.intents, Unreadable):
        return _said("unknown", seen, {"idle_s": idle_s}, f"intents: {seen.intents.why}")
    if intent is None:
        return _begin(seen, idle_s)
    return _end(seen, intent, now)


def _withdraw(seen: Seen, intent: Ender, reasons: tuple[str, ...]) -> Decision:
    """A hold that stands already has the restarter stop the machine: only a person can lift it."""
    why = f"spoteval hold release {intent.hold_id}, or it is stopped" if intent.proved else None
    pairs: dict[str, Value] = {"because": "; ".join(reasons), "hold": intent.hold_id}
    return _said("withdraw", seen, pairs, why)


def _waiting(seen: Seen, policy: Policy, idle_s: float) -> Decision:
    pairs: dict[str, Value] = {"idle_s": round(idle_s), "after_s": policy.after_s}
    left_s = policy.after_s - idle_s
    return _said("idle", seen, pairs, f"off in {left_s:.0f} s unless something uses it")


def _begin(seen: Seen, idle_s: float | None) -> Decision:
    assert not isinstance(seen.intents, Unreadable)
    before = rounds(seen.intents, seen.session, AGENT)
    pairs: dict[str, Value] = {"idle_s": None if idle_s is None else round(idle_s)}
    if before >= ROUNDS:
        why = f"stopped {before} times without a hold, and started again each time; a person must"
        return _said("gave-up", seen, {**pairs, "rounds": before}, f"{why} look")
    return _said("intent", seen, pairs, "nothing uses it; written down before anything is done")


def _end(seen: Seen, intent: Ender, now: Now) -> Decision:
    tried_s = elapsed_s(intent.at, now) if intent.at is not None else None
    pairs: dict[str, Value] = {"hold": intent.hold_id}
    if intent.proved and seen.eyes_age_s is not None and seen.eyes_age_s > FRESH_S:
        return _said("look", seen, pairs, "once more before the end")
    if intent.proved:
        why = "nothing uses it, and it is not started again until a person releases the hold"
        return _said("stop", seen, {**pairs, "restarter_hold": "proved", "power": "off"}, why)
    if tried_s is not None and tried_s >= HOLD_WITHIN_S:
        why = "the hold could not be proved; the next boot places it first"
        return _said("stop", seen, {**pairs, "restarter_hold": "unproved", "power": "off"}, why)
    pairs["tried_s"] = None if tried_s is None else round(tried_s)
    return _said("hold", seen, pairs, seen.failed)


def _said(word: str, seen: Seen, pairs: dict[str, Value], why: str | None = None) -> Decision:
    end: dict[str, Value] = {"keep_alive": _shown(seen)}
    if seen.keep is not None and seen.keep.age_s is not None:
        end["keep_alive_s"] = round(seen.keep.age_s)
    return Decision(word, {**pairs, **end, "disk": seen.disk}, why, AGENT)


def _shown(seen: Seen) -> str:
    if isinstance(seen.keep_alive, Unreadable):
        return "unreadable"
    return "none" if seen.keep_alive is None else seen.keep_alive.text or "yes"
