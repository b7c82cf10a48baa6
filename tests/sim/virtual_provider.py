"""The provider's face of the virtual cloud: slow, silent and dear now and then; the truth is checked at each call."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from crash_points import Crash
from restarter_story import NOON
from sim.virtual_cloud import VirtualCloud
from spoteval.provider.contract import Observation, Price, Reply, ReplyKind, State
from spoteval.shape import Reading, Unreadable


@dataclass
class Faults:
    """What goes wrong in one cycle."""

    silent: bool = False
    slow_s: float = 0.0
    dear: bool = False
    at_price: Callable[[], None] | None = None
    die_before_start: bool = False
    die_after_start: bool = False

    @property
    def keep_from_starting(self) -> bool:
        """Whether a start may rightly not come of this cycle."""
        return self.silent or self.slow_s > 0 or self.dear or self.at_price is not None


@dataclass
class VirtualProvider:
    """`check` is called at each start request, before it takes effect; `passes` moves the virtual clock."""

    cloud: VirtualCloud
    check: Callable[[], None]
    passes: Callable[[float], None]
    faults: Faults = field(default_factory=Faults)
    starts: int = 0
    stops: int = 0
    answers_lost: int = 0

    def observe(self, deadline_s: float) -> Reading[Observation]:
        self.passes(self.faults.slow_s / 2)
        if self.faults.silent:
            return Unreadable(f"timeout:{deadline_s:g}s")
        started_s = self.cloud.last_start_s
        return Observation(
            State(self.cloud.state),
            billed=self.cloud.state != "STOPPED",
            last_start=NOON + timedelta(seconds=started_s) if started_s is not None else None,
            cause=self.cloud.cause if self.cloud.state == "STOPPED" else None,
        )

    def start(self, deadline_s: float) -> Reply:
        if self.faults.die_before_start:
            raise Crash("before the start took effect")
        self.check()
        self.starts += 1
        status, error = self.cloud.ask("start")
        if self.faults.die_after_start:
            self.answers_lost += 1
            raise Crash("after the start took effect")
        return _reply(status, error)

    def stop(self, deadline_s: float) -> Reply:
        self.stops += 1
        return _reply(*self.cloud.ask("stop"))

    def price(self, deadline_s: float) -> Reading[Price]:
        self.passes(self.faults.slow_s / 2)
        if self.faults.at_price is not None:
            self.faults.at_price()
        amount = 99.0 if self.faults.dear else self.cloud.price
        return Price(amount, "USD", "hour", "spot", NOON)


def _reply(status: int, error: str | None) -> Reply:
    kinds: dict[int, ReplyKind] = {200: "accepted", 503: "capacity"}
    return Reply(ok=status == 200, kind=kinds.get(status, "unknown"), detail=error or "")
