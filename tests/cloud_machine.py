"""What most clouds of the scenarios have in common: what moves their one machine, and how they are out."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Protocol

from fakes.machine import Machine
from fakes.server import Reply

AWAY = (
    Reply(503, "<html>away</html>"),
    Reply(200, '{"half": ', then="half"),
    Reply(200, "", then="reset"),
    Reply(200, "<html>a captive portal</html>"),
    Reply(200, "[1, 2]"),
)
"""How any HTTP service fails, whatever its own errors look like."""


class OnMachine:
    """A cloud that restarts nothing by itself, and bills no machine that its guest powered off."""

    restarts_itself = False
    bills_poweroff: bool | None = False
    machine: Machine

    def preempts(self) -> None:
        """It takes the machine."""
        self.machine.stop("preempted")

    def has_room(self) -> None:
        """It restarts nothing by itself."""

    def operator_stops(self) -> None:
        """A person, in its console."""
        self.machine.stop("user")

    def guest_powers_off(self) -> None:
        """`poweroff` on the machine."""
        self.machine.stop("guest")
        self.machine.billed_off = bool(self.bills_poweroff)


class Listening(Protocol):
    """A fake of a service."""

    def listening(self) -> AbstractContextManager[object]:
        """Until the end of the block."""


@contextmanager
def listening(*fakes: Listening) -> Iterator[None]:
    """All of them, until the end of the block."""
    with ExitStack() as stack:
        for fake in fakes:
            stack.enter_context(fake.listening())
        yield


def typed_price(amount: float | None) -> dict[str, object]:
    """The key `price` of a table, as somebody typed it; none for None."""
    if amount is None:
        return {}
    day = {"currency": "USD", "per": "hour", "as_of": "2026-11-20"}
    return {"price": {"amount": amount, **day}}
