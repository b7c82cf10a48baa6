"""A provider that goes through a list of states, and a waiting that does not wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from spoteval.loop import Wake
from spoteval.provider.contract import Observation, Price, Reply, State
from spoteval.shape import Reading, Unreadable

PRICE = Price(3.21, "USD", "hour", "spot", datetime(2026, 12, 1, tzinfo=UTC))
ACCEPTED = Reply(ok=True, kind="accepted")


@dataclass
class FakeProvider:
    """States are looked at in order; the last one stays. Calls are counted."""

    states: list[State | str]
    reply: Reply = ACCEPTED
    priced: Reading[Price] = PRICE
    billed_while_stopped: bool = False
    cancels: bool = True
    calls: list[str] = field(default_factory=list)

    def observe(self, deadline_s: float) -> Reading[Observation]:
        """The next state; a text is what could not be read."""
        found = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if not isinstance(found, State):
            return Unreadable(found)
        return Observation(found, billed=found is not State.STOPPED or self.billed_while_stopped)

    def start(self, deadline_s: float) -> Reply:
        """Counted."""
        self.calls.append("start")
        return self.reply

    def stop(self, deadline_s: float) -> Reply:
        """Counted."""
        self.calls.append("stop")
        return self.reply

    def price(self, deadline_s: float) -> Reading[Price]:
        """What was set."""
        return self.priced


class NoWait:
    """Waits are counted and over at once."""

    def __init__(self) -> None:
        self.waited_s = 0.0

    def wait(self, timeout_s: float) -> Wake:
        """Over."""
        self.waited_s += timeout_s
        return Wake("time")


@contextmanager
def no_patience() -> Iterator[NoWait]:
    """In the place of `patience`."""
    yield NoWait()
