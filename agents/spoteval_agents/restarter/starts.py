"""The half of `observe` about starts: reached, failed, refused. Pure."""

from dataclasses import replace

from spoteval.clock import Mark, Now
from spoteval.event import REHEARSAL
from spoteval.provider.contract import Observation
from spoteval.provider.contract import State as ProviderState
from spoteval.shape import Unreadable
from spoteval_agents.restarter.cause import rehearsed
from spoteval_agents.restarter.moments import is_later
from spoteval_agents.restarter.policy import REFUSED_POLLS, Policy, since_s
from spoteval_agents.restarter.seen import OFF, Seen
from spoteval_agents.restarter.state import UNKNOWN_BOOT, Ask, Life, Refusal, State
from spoteval_agents.restarter.telling import Step, told


def see_reached(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """RUNNING, or a start or boot newer than the request: the request is done and the weather is fine."""
    obs = seen.understood
    if obs is None or (by := _reached_by(state, seen, obs)) is None:
        return state, ()
    if state.life is not None:
        return (replace(state, ask=None) if state.ask is not None else state), ()
    ask = state.ask if state.ask is not None and not state.ask.recovered else None
    life = _life(state, ask, now)
    after = replace(
        state,
        life=life,
        ask=None,
        failures=0,
        failing_since=None,
        failed_at=None,
        refusal=None,
        advice=None,
        stop_asks=None,
        counts=replace(state.counts, rated=0, undone=_undone(state, ask)),
    )
    detail: dict[str, object] = {}
    if life.boot_seq != UNKNOWN_BOOT:
        detail["boot_seq"] = life.boot_seq
    if rehearsed(state):
        detail[REHEARSAL] = True
    if ask is not None:
        detail["asked_s"] = round(since_s(ask.at, now), 3)
    reason = None if ask is not None else _unasked(state)
    return after, (told("running", policy, now, reason=reason, evidence=by, detail=detail),)


def see_window(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """The verdict on an open start, only from a state that was understood: RUNNING was not seen in time.

    A refusal that says nothing about capacity closes the window early, once two later looks saw it still off.
    """
    ask = state.ask
    if ask is None or seen.understood is None:
        return state, ()
    still = ask.still + 1 if ask.refused is not None and seen.understood.state in OFF else 0
    closed = replace(state, ask=None)
    if ask.refused is not None and still >= REFUSED_POLLS:
        return _refused(closed, ask, ask.refused, policy, now)
    if since_s(ask.at, now) < policy.poll.start_window_s:
        return (replace(state, ask=replace(ask, still=still)) if still != ask.still else state), ()
    if ask.recovered:
        return closed, ()
    if ask.refused is not None:
        return _refused(closed, ask, ask.refused, policy, now)
    return _failed(closed, ask, seen, policy, now)


def _refused(state: State, ask: Ask, kind: str, policy: Policy, now: Now) -> Step:
    """It counts as a failed start, and its clock goes on; the backoff does not move."""
    after = replace(
        state, failing_since=_failing_since(state, ask), refusal=Refusal(now.mark, kind)
    )
    text = ask.reply if ask.reply is not None else kind
    return after, (told("start-refused", policy, now, reason=text, evidence=kind),)


def _failed(state: State, ask: Ask, seen: Seen, policy: Policy, now: Now) -> Step:
    after = replace(
        state,
        failures=state.failures + 1,
        failing_since=_failing_since(state, ask),
        failed_at=now.mark,
        refusal=None,
    )
    event = told(
        "capacity-failure",
        policy,
        now,
        reason=ask.reply,
        evidence=f"{seen.word} when the window closed",
        price=ask.price,
        detail={"failures": after.failures, "window_s": policy.poll.start_window_s},
    )
    return after, (event,)


def _reached_by(state: State, seen: Seen, obs: Observation) -> str | None:
    if obs.state is ProviderState.RUNNING:
        return "RUNNING"
    ask = state.ask
    if ask is None or ask.recovered:
        return "newer-start" if _came_and_went(state, obs) else None
    if obs.last_start is not None:
        newer = ask.last_start is None or is_later(obs.last_start, ask.last_start)
        return "newer-start" if newer else None
    booted = not isinstance(seen.store, Unreadable) and seen.store.boot_seq > ask.boot_seq
    return "boot-fact" if booted else None


def _came_and_went(state: State, obs: Observation) -> bool:
    """Somebody else started it, and it is off again: between two looks."""
    known, said = state.last_start, obs.last_start
    was_off = state.life is None and obs.state in OFF
    return was_off and known is not None and said is not None and is_later(said, known)


def _life(state: State, ask: Ask | None, now: Now) -> Life:
    """It begins with this look. Found at a very first look, nobody knows which boots were before it."""
    price = ask.price if ask is not None else state.price
    before = state.counts.boot_seq
    if (
        state.word is None and before == 0
    ):  # neither seen off, nor told by the events of a lost memory
        before = UNKNOWN_BOOT
    return Life(now.mark, price, ask.boot_seq if ask is not None else before)


def _undone(state: State, ask: Ask | None) -> int:
    """A start of others, after a stop of ours and under a hold that wants it off, undoes the stop."""
    wanted_off = any(item.hold.ensure_stopped for item in state.holds)
    ours = state.stop is not None and state.stop.cause == "restarter"
    by_others = ask is None and state.failures == 0
    return state.counts.undone + int(by_others and wanted_off and ours)


def _unasked(state: State) -> str:
    if state.failures > 0:
        return "later than the window of its start"
    return "not asked for by this restarter"


def _failing_since(state: State, ask: Ask) -> Mark:
    return ask.at if state.failing_since is None else state.failing_since
