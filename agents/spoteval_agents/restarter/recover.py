"""What can be told from the events alone when the state is lost. Pure."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from spoteval.clock import Mark, Now, carried
from spoteval.event import NEEDS_YOU, Event, event_from
from spoteval.hold import hold_from
from spoteval.provider.contract import Price
from spoteval.shape import ShapeError, Table, Unreadable
from spoteval_agents.restarter.holding import assigned
from spoteval_agents.restarter.lives import counted
from spoteval_agents.restarter.moments import latest
from spoteval_agents.restarter.placing import reset
from spoteval_agents.restarter.state import (
    UNKNOWN_BOOT,
    Ask,
    Assignment,
    KnownHold,
    Life,
    State,
    Stop,
    StopAsks,
)
from spoteval_agents.restarter.state_parts import maybe_flag, price_from
from spoteval_agents.restarter.telling import CLEARED


def recovered(records: Iterable[dict[str, object]], now: Now) -> State:
    """Counters, the life that goes on, holds, the run. Whether a start is open is not known, so one may be."""
    state = State()
    for record in records:
        event = event_from(record)
        if isinstance(event, Event) and event.kind in _STEPS:
            with suppress(ShapeError):  # one record that says too little takes nothing else along
                state = _STEPS[event.kind](state, event, now)
    return replace(state, ask=Ask(now.mark, recovered=True))


def _asked(state: State, event: Event, now: Now) -> State:  # noqa: ARG001 - one signature for all
    before = Table(event.detail, "start-asked").whole("boot_seq", 0)
    counts = replace(state.counts, boot_seq=max(before, state.counts.boot_seq))
    price = _price(event) or state.price
    return replace(state, starts=state.starts + 1, price=price, counts=counts)


def _withdrawn(state: State, event: Event, now: Now) -> State:  # noqa: ARG001
    return replace(state, starts=max(0, state.starts - 1))


def _running(state: State, event: Event, now: Now) -> State:
    before = Table(event.detail, "running").whole("boot_seq", UNKNOWN_BOOT)
    life = Life(_moment(event, now), state.price, before)
    return replace(
        state,
        failures=0,
        failing_since=None,
        failed_at=None,
        refusal=None,
        stop_asks=None,
        life=life,
    )


def _stop_asked(state: State, event: Event, now: Now) -> State:
    """A stop that may still take effect is ours, whatever reason the provider will give for it."""
    count = Table(event.detail, "stop-asked").whole("stops")
    return replace(state, stop_asks=StopAsks(_moment(event, now), count))


def _stopped(state: State, event: Event, now: Now) -> State:  # noqa: ARG001
    detail = Table(event.detail, "stopped")
    stop = Stop(
        cause=event.reason or "unknown",
        evidence=event.evidence or "none",
        up_was_s=detail.number("up_s"),
        booted=maybe_flag(detail, "booted"),
        healthy=maybe_flag(detail, "healthy"),
        held=detail.flag("held", default=False),
        last_start=detail.maybe_moment("last_start"),
    )
    counts = counted(state.counts, stop, short=detail.flag("short", default=False))
    counts = replace(counts, boot_seq=detail.whole("boot_seq", counts.boot_seq))
    spent = detail.number("spent")
    last_start = latest(state.last_start, stop.last_start)
    after = replace(state, life=None, stop=stop, stop_asks=None, spent=spent, counts=counts)
    return replace(after, last_start=last_start)


def _failed(state: State, event: Event, now: Now) -> State:
    at = _moment(event, now)
    return replace(_refused(state, event, now), failures=state.failures + 1, failed_at=at)


def _refused(state: State, event: Event, now: Now) -> State:
    at = _moment(event, now)
    return replace(state, failing_since=at if state.failing_since is None else state.failing_since)


def _placed(state: State, event: Event, now: Now) -> State:
    """A hold; the touch file is looked at anyway and needs no memory. One of our own may not have been put yet."""
    detail = Table(event.detail, "hold-seen")
    hold = hold_from(detail)
    if isinstance(hold, Unreadable):
        return state
    known = KnownHold(
        hold,
        _moment(event, now),
        placed=not detail.flag("own", default=False),
        local=detail.flag("local", default=False),
    )
    others = tuple(item for item in state.holds if item.hold.id != hold.id)
    return replace(state, holds=(*others, known))


def _lifted(state: State, event: Event, now: Now) -> State:
    gone = str(event.detail.get("id"))
    left = tuple(item for item in state.holds if item.hold.id != gone)
    return reset(gone, replace(state, holds=left), now)


def _assigned(state: State, event: Event, now: Now) -> State:  # noqa: ARG001
    detail = Table(event.detail, "run-assigned")
    if not detail.has("run"):
        return replace(state, run=None)
    run = Assignment(detail.text("run"), detail.whole("generation"), over=detail.maybe_text("over"))
    return assigned(state, run)


def _told(state: State, event: Event, now: Now) -> State:  # noqa: ARG001
    topic = event.detail.get("topic")
    others = tuple(item for item in state.told if item != topic)
    is_open = event.kind == NEEDS_YOU and isinstance(topic, str)
    return replace(state, told=(*others, str(topic)) if is_open else others)


def _moment(event: Event, now: Now) -> Mark:
    """When an event was, as a mark of this boot: an event has wall time alone."""
    then = Now(event.at, 0.0, "")
    return carried(then.mark, then, now)


def _price(event: Event) -> Price | None:
    return price_from(Table(event.price, "price")) if event.price is not None else None


_STEPS: Mapping[str, Callable[[State, Event, Now], State]] = {
    "start-asked": _asked,
    "start-withdrawn": _withdrawn,
    "running": _running,
    "stop-asked": _stop_asked,
    "stopped": _stopped,
    "capacity-failure": _failed,
    "start-refused": _refused,
    "hold-seen": _placed,
    "hold-gone": _lifted,
    "run-assigned": _assigned,
    NEEDS_YOU: _told,
    CLEARED: _told,
}
