"""What changed since the last look: starts reached and failed, stops with their cause, counters. Pure.

Runs always, whatever is held; `decide` only reads what this remembers.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from spoteval.clock import Now, stamp
from spoteval.event import Event
from spoteval.provider.contract import Observation
from spoteval.provider.contract import State as ProviderState
from spoteval.shape import Unreadable
from spoteval_agents.restarter.cause import cause_of
from spoteval_agents.restarter.holding import (
    see_file_hold,
    see_mirror,
    see_run,
    see_store_holds,
    see_unheard,
)
from spoteval_agents.restarter.policy import REPORT_UNKNOWN_S, Policy, since_s
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import Ask, Life, State, Stop, Unknown
from spoteval_agents.restarter.telling import News, Step, report, told


def observe(state: State, seen: Seen, policy: Policy, now: Now) -> tuple[State, News]:
    """The state after this look, and the events that it brought."""
    news: list[Event] = []
    for step in STEPS:
        state, more = step(state, seen, policy, now)
        news += more
    return state, tuple(news)


def _see_unknown(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """A stretch without an answer is measured and, once, reported; nothing else moves while it lasts."""
    if seen.understood is not None:
        return replace(state, unknown=None), ()
    error = seen.provider.why if isinstance(seen.provider, Unreadable) else seen.word
    before = state.unknown
    if before is None:
        return replace(state, unknown=Unknown(now.mark, error)), ()
    unknown_s = since_s(before.since, now)
    due = unknown_s >= REPORT_UNKNOWN_S and not before.reported
    after = replace(
        before, error=error, repeats=before.repeats + 1, reported=before.reported or due
    )
    text = f"the provider has said nothing that is understood for {unknown_s / 60:.0f} min: {error}"
    return replace(state, unknown=after), (report(policy, now, text),) if due else ()


def _see_missed_stop(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """It ran, and now runs since another start or is starting again: it was off between two looks."""
    obs = seen.understood
    if obs is None or state.life is None or state.word != "RUNNING":
        return state, ()
    if obs.state is not ProviderState.STARTING and not _newer(obs, state):
        return state, ()
    return _ended(state, policy, now, ("unknown", "newer-start"))


def _see_reached(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """RUNNING, or a start or boot newer than the request: the request is done and the weather is fine."""
    obs = seen.understood
    if obs is None or (by := _reached_by(state, seen, obs)) is None:
        return state, ()
    if state.life is not None:
        return replace(state, ask=None), ()
    ask = state.ask if state.ask is not None and not state.ask.recovered else None
    after = replace(
        state,
        life=Life(now.mark, ask.price if ask is not None else state.price),
        ask=None,
        failures=0,
        failing_since=None,
        failed_at=None,
        stop_asks=None,
    )
    detail = {"asked_s": round(since_s(ask.at, now), 3)} if ask is not None else {}
    reason = None if ask is not None else _unasked(state)
    return after, (told("running", policy, now, reason=reason, evidence=by, detail=detail),)


def _see_stopped(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    obs = seen.understood
    if obs is None or obs.state is not ProviderState.STOPPED:
        return state, ()
    if state.stop_asks is not None and state.life is None and obs.billed is not True:
        return replace(state, stop_asks=None), ()
    if state.life is None:
        return state, ()
    after, news = _ended(state, policy, now, cause_of(state, seen, obs))
    asks = state.stop_asks if obs.billed is True else None
    return replace(after, word=obs.state.value, since=now.mark, stop_asks=asks), news


def _see_window(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """The verdict on an open start, only from a state that was understood: RUNNING was not seen in time."""
    ask = state.ask
    if ask is None or seen.understood is None:
        return state, ()
    if since_s(ask.at, now) < policy.poll.start_window_s:
        return state, ()
    closed = replace(state, ask=None)
    if ask.recovered:
        return closed, ()
    if ask.refused is not None:
        text = ask.reply if ask.reply is not None else ask.refused
        return closed, (told("start-refused", policy, now, reason=text, evidence=ask.refused),)
    return _failed(closed, ask, seen, policy, now)


def _see_word(state: State, seen: Seen, policy: Policy, now: Now) -> Step:  # noqa: ARG001
    obs = seen.understood
    if obs is None:
        return state, ()
    last_start = state.last_start if obs.last_start is None else obs.last_start
    since = state.since if obs.state.value == state.word else now.mark
    return replace(state, word=obs.state.value, since=since, last_start=last_start), ()


def _see_price(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """A price is an event when it is new; the moment of its reading alone is not news."""
    price, before = seen.price, state.price
    if price is None or isinstance(price, Unreadable):
        return state, ()
    if before is not None and replace(before, as_of=price.as_of) == price:
        return state, ()
    return replace(state, price=price), (told("price-read", policy, now, price=price),)


def _failed(state: State, ask: Ask, seen: Seen, policy: Policy, now: Now) -> Step:
    failing_since = ask.at if state.failing_since is None else state.failing_since
    after = replace(
        state, failures=state.failures + 1, failing_since=failing_since, failed_at=now.mark
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


def _ended(state: State, policy: Policy, now: Now, why: tuple[str, str]) -> Step:
    life = state.life
    assert life is not None
    up_s = since_s(life.since, now)
    cost = life.price.amount * up_s / 3600.0 if life.price is not None else 0.0
    after = replace(state, life=None, stop=Stop(*why, round(up_s, 3)), spent=state.spent + cost)
    detail = {"up_s": round(up_s, 3), "spent": round(after.spent, 4)}
    cause, evidence = why
    event = told("stopped", policy, now, reason=cause, evidence=evidence, detail=detail)
    return after, (event,)


def _reached_by(state: State, seen: Seen, obs: Observation) -> str | None:
    if obs.state is ProviderState.RUNNING:
        return "RUNNING"
    ask = state.ask
    if ask is None or ask.recovered:
        return None
    if obs.last_start is not None and (
        ask.last_start is None or _later(obs.last_start, ask.last_start)
    ):
        return "newer-start"
    booted = not isinstance(seen.store, Unreadable) and seen.store.boot_seq > ask.boot_seq
    return "boot-fact" if booted else None


def _unasked(state: State) -> str:
    if state.failures > 0:
        return "later than the window of its start"
    return "not asked for by this restarter"


def _newer(obs: Observation, state: State) -> bool:
    known, said = state.last_start, obs.last_start
    return known is not None and said is not None and _later(said, known)


def _later(moment: datetime, other: datetime) -> bool:
    """Later as far as the state on disk can tell, which keeps milliseconds: providers tell microseconds."""
    return stamp(moment) > stamp(other)


STEPS: tuple[Callable[[State, Seen, Policy, Now], Step], ...] = (
    see_file_hold,
    see_store_holds,
    see_mirror,
    see_run,
    see_unheard,
    _see_unknown,
    _see_missed_stop,
    _see_reached,
    _see_stopped,
    _see_window,
    _see_word,
    _see_price,
)
