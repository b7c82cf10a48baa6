"""Starting and stopping an instance by hand: what is seen, what is said, what is on record."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spoteval.clock import Now
from spoteval.config.shared import Money
from spoteval.control.eventlog import log_event
from spoteval.control.holds import look
from spoteval.control.refused import Refused
from spoteval.event import NEEDS_YOU, Event
from spoteval.files import read_text
from spoteval.loop import Waiting
from spoteval.paths import InstancePaths
from spoteval.provider.contract import Observation, Price, Provider, Reply, State
from spoteval.shape import Reading, Unreadable
from spoteval.store.contract import Store

OBSERVE_S, CALL_S = 10.0, 20.0
MANUAL_START, MANUAL_STOP = "manual-start", "manual-stop"
"""Kinds of events: a person's own calls are never mistaken for the restarter's."""

Clock = Callable[[], Now]
Done = Callable[[Observation], bool]


@dataclass(frozen=True, slots=True)
class Watched:
    """The last look at an instance, and whether it is what was waited for, after so many seconds."""

    reached: bool
    last: Reading[Observation]
    took_s: float

    @property
    def word(self) -> str:
        """The state in words."""
        if isinstance(self.last, Unreadable):
            return f"unknown: {self.last.why}"
        return self.last.state.value


def is_off(seen: Observation) -> bool:
    """STOPPED, and not billed as far as the provider says."""
    return seen.state is State.STOPPED and seen.billed is not True


def is_running(seen: Observation) -> bool:
    """RUNNING: the only proof of a start."""
    return seen.state is State.RUNNING


def watch(
    provider: Provider, done: Done, within_s: float, every_s: float, waiting: Waiting, clock: Clock
) -> Watched:
    """Look until it is done, at most `within_s` seconds; an unreadable look proves nothing."""
    began_s = clock().mono_s
    while True:
        last = provider.observe(OBSERVE_S)
        took_s = clock().mono_s - began_s
        if isinstance(last, Observation) and done(last):
            return Watched(reached=True, last=last, took_s=took_s)
        if took_s >= within_s:
            return Watched(reached=False, last=last, took_s=took_s)
        waiting.wait(min(every_s, within_s - took_s))


def refuse_held(store: Store | None, paths: InstancePaths, instance: str) -> None:
    """Raise Refused while any hold stands, or holds cannot be read; StoreError while the store is away.

    Without a store, holds are files alone.
    """
    lift = f"spoteval hold release {instance}"
    if not paths.hold.parent.is_dir():
        raise Refused(f"{paths.hold.parent}: no such directory, which counts as a hold")
    text = read_text(paths.hold)
    if text is not None:
        reason = text.why if isinstance(text, Unreadable) else text
        raise Refused(f'held: "{reason}" ({lift})')
    standing = look(store, instance).standing if store is not None else ()
    if standing:
        raise Refused(f"held: {', '.join(standing)} ({lift})")


def refuse_price(price: Reading[Price], cap: Money | None) -> None:
    """Raise Refused above the cap of [grant], and under a cap where the price is unknown or not comparable."""
    if cap is None:
        return
    if isinstance(price, Unreadable):
        raise Refused(f"the price cannot be read, and a cap is set: {price.why}")
    if (price.currency, price.per) != (cap.currency, cap.per or price.per):
        raise Refused(
            f"the price is in {price.currency} per {price.per}, the cap is in {cap.currency}"
            f" per {cap.per or price.per}"
        )
    if price.amount > cap.amount:
        raise Refused(
            f"price {price.amount:.2f} {price.currency}/{price.per} is above the cap"
            f" {cap.amount:.2f} ([grant] price_cap)"
        )


def record_call(
    paths: InstancePaths,
    kind: str,
    now: Now,
    reason: str,
    price: Reading[Price] | None = None,
    detail: Mapping[str, object] | None = None,
) -> None:
    """The call on record, before it is made."""
    event = Event(
        at=now.wall,
        kind=kind,
        source="operator",
        instance=paths.instance,
        reason=reason,
        price=price.record() if isinstance(price, Price) else None,
        detail=detail if detail is not None else {},
    )
    log_event(paths.events, event)


def report_on(paths: InstancePaths, seen: Watched, now: Now) -> str:
    """Put on record that a stop by hand did not come; returns what to say of it. Raises OSError."""
    text = (
        f"{paths.instance} is not off {seen.took_s:.0f} s after its stop was asked for ({seen.word}):"
        " held, and it may be billed; look at the provider"
    )
    again = f"spoteval stop {paths.instance}"
    detail = {"command": again, "took_s": round(seen.took_s, 1), "state": seen.word}
    event = Event(now.wall, NEEDS_YOU, "operator", paths.instance, reason=text, detail=detail)
    log_event(paths.events, event)
    return f"{text} (again: {again})"


def answered(reply: Reply) -> str:
    """What a call answered, in words."""
    if reply.ok:
        return "accepted"
    return f"{reply.kind}: {reply.detail}" if reply.detail else reply.kind
