"""What can be told from the events alone when the state is lost. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from spoteval.clock import Mark, Now, carried
from spoteval.event import Event, event_from
from spoteval.hold import hold_from
from spoteval.provider.contract import Price
from spoteval.shape import ShapeError, Table, Unreadable
from spoteval_agents.restarter.state import Ask, KnownHold, Life, State, Stop
from spoteval_agents.restarter.state_file import price_from


def recovered(records: Iterable[dict[str, object]], now: Now) -> State:
    """Counters, the life that goes on, and holds. Whether a start is open is not known, so one may be."""
    state = State()
    for record in records:
        event = event_from(record)
        if isinstance(event, Event):
            state = _after(state, event, now)
    return replace(state, ask=Ask(now.mark, recovered=True))


def _after(state: State, event: Event, now: Now) -> State:
    match event.kind:
        case "start-asked":
            return replace(state, starts=state.starts + 1, price=_price(event) or state.price)
        case "running":
            life = Life(_moment(event, now), state.price)
            return replace(state, failures=0, failing_since=None, failed_at=None, life=life)
        case "stopped":
            return _stopped(state, event)
        case "capacity-failure":
            at = _moment(event, now)
            first = at if state.failing_since is None else state.failing_since
            failures = state.failures + 1
            return replace(state, failures=failures, failing_since=first, failed_at=at)
        case "hold-seen":
            return _placed(state, event, now)
        case "hold-gone":
            gone = event.detail.get("id")
            left = tuple(item for item in state.holds if item.hold.id != gone)
            return replace(state, holds=left)
        case _:
            return state


def _stopped(state: State, event: Event) -> State:
    detail = Table(event.detail, "stopped")
    try:
        up_s, spent = detail.number("up_s"), detail.number("spent")
    except ShapeError:
        return replace(state, life=None)
    stop = Stop(event.reason or "unknown", event.evidence or "none", up_s)
    return replace(state, life=None, stop=stop, spent=spent)


def _placed(state: State, event: Event, now: Now) -> State:
    """A hold of the store; the touch file is looked at anyway and needs no memory."""
    hold = hold_from(Table(event.detail, "hold-seen"))
    if isinstance(hold, Unreadable):
        return state
    known = KnownHold(hold, _moment(event, now))
    others = tuple(item for item in state.holds if item.hold.id != hold.id)
    return replace(state, holds=(*others, known))


def _moment(event: Event, now: Now) -> Mark:
    """When an event was, as a mark of this boot: an event has wall time alone."""
    then = Now(event.at, 0.0, "")
    return carried(then.mark, then, now)


def _price(event: Event) -> Price | None:
    if event.price is None:
        return None
    try:
        return price_from(Table(event.price, "price"))
    except ShapeError:
        return None
