"""The provider's face of the virtual cloud for one host: slow, silent, lying and dear now and then.

The truth is checked at each request, before it takes effect.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from restarter_story import NOON
from sim.cutting import Points
from sim.fault_plan import Faults
from sim.virtual_cloud import VirtualCloud
from spoteval.provider.contract import Observation, Price, Reply, ReplyKind, State
from spoteval.shape import Reading, Unreadable

Check = Callable[[str], None]
LIE_S = 45.0
"""A provider's answer may be so old: less than the grace, or nothing could be told from any answer."""
_KINDS: dict[int, ReplyKind] = {
    200: "accepted",
    403: "auth",
    404: "gone",
    409: "conflict",
    429: "rate",
    503: "capacity",
}


@dataclass
class VirtualProvider:
    """`check` is called at each request and with each price, with its verb; `passes` moves the virtual clock."""

    cloud: VirtualCloud
    points: Points
    check: Check
    passes: Callable[[float], None]
    at_price: Callable[[], None]
    faults: Faults = field(default_factory=Faults)
    dear: bool = False
    starts: int = 0
    stops: int = 0
    answers_lost: int = 0
    reply: Reply | None = None
    cancels: bool = True

    def observe(self, deadline_s: float) -> Reading[Observation]:
        self.passes(self.faults.within("slow", 0.0, 12.0))
        if "timeout" in self.faults:
            return Unreadable(f"timeout:{deadline_s:g}s")
        said = self.cloud.as_of(self.cloud.seconds - self.faults.within("lie", 0.0, LIE_S))
        started_s = said.last_start_s
        return Observation(
            State(said.state),
            billed=said.state not in ("STOPPED", "GONE", "UNRESTARTABLE"),
            auto_restart=said.auto_restart,
            last_start=NOON + timedelta(seconds=started_s) if started_s is not None else None,
            cause=said.cause,
        )

    def start(self, deadline_s: float) -> Reply:
        self.points.passed("request")
        self.check("start")
        self.starts += 1
        return self._asked("start", deadline_s)

    def stop(self, deadline_s: float) -> Reply:
        self.points.passed("request")
        self.check("stop")
        self.stops += 1
        return self._asked("stop", deadline_s)

    def price(self, deadline_s: float) -> Reading[Price]:
        self.passes(self.faults.within("slow", 0.0, 12.0))
        if "hold-at-price" in self.faults:
            self.at_price()
        self.check("price")
        if "no-price" in self.faults:
            return Unreadable(f"timeout:{deadline_s:g}s")
        amount = 99.0 if self.dear else self.cloud.price
        return Price(amount, "USD", "hour", "spot", NOON)

    def _asked(self, verb: str, deadline_s: float) -> Reply:
        """With its effect, without, or with one that comes later; and with its answer, or without."""
        late_s = self.faults.within("lost-answer", -120.0, 120.0)
        if "lost-request" in self.faults:
            self.reply = self._lost(deadline_s)
        elif "lost-answer" in self.faults and late_s > 0:
            self.cloud.ask_later(verb, late_s)
            self.reply = self._lost(deadline_s)
        else:
            status, error = self.cloud.ask(verb)
            self.reply = Reply(status == 200, _KINDS.get(status, "unknown"), error or "")
            self.points.passed("requested")
            if "lost-answer" in self.faults:
                self.reply = self._lost(deadline_s)
        return self.reply

    def _lost(self, deadline_s: float) -> Reply:
        self.answers_lost += 1
        return Reply(ok=False, kind="unknown", detail=f"timeout:{deadline_s:g}s")
