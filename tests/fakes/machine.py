"""One machine at a cloud, over the product's market: what the cloud does to it, second by second of a test's clock."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from spoteval.clock import Now
from spoteval.local.market import (
    NEW,
    UP,
    History,
    Market,
    Phase,
    StartAnswer,
    Strike,
    answer_to_start,
    coming_event,
)
from spoteval.local.node_decide import STATES

BOOT_S = 25.0
GOOD = StartAnswer(200, None, begins=True, runs=True, after_s=BOOT_S)


def refused(code: str, status: int = 400) -> StartAnswer:
    """Turned down at once with that code; nothing begins."""
    return StartAnswer(status, code, begins=False, runs=False, after_s=0.0)


def fails_later(code: str | None = None, after_s: float = 20.0) -> StartAnswer:
    """Accepted; some seconds later there is no room after all, with that code where the cloud gives one."""
    return StartAnswer(200, code, begins=True, runs=False, after_s=after_s)


def goes_on(code: str, status: int = 500) -> StartAnswer:
    """Answered with an error, and the machine comes up all the same."""
    return StartAnswer(status, code, begins=True, runs=True, after_s=BOOT_S)


@dataclass
class Scripted:
    """A weather in which each start ends as a test says, the last way for ever, and nothing is taken by itself."""

    starts: list[StartAnswer] = field(default_factory=lambda: [GOOD])
    window_s: float = 30.0

    def start(self, seed: int, attempt: int) -> StartAnswer:
        """By its number."""
        return self.starts[min(attempt, len(self.starts) - 1)]

    def strike(self, seed: int, history: History) -> Strike | None:
        """Only by hand."""
        return None


@dataclass
class Machine:
    """Where it stands now. `flicker`: seconds of a start in which the cloud shows it stopped for a moment."""

    clock: Callable[[], Now]
    name: str = "gpu-1"
    weather: Scripted = field(default_factory=Scripted)
    history: History = NEW
    since_s: float = 0.0
    launched: datetime | None = None  # when the last start was accepted, whatever became of it
    last_start: datetime | None = None  # when it last reached RUNNING
    last_stop: datetime | None = None
    exists: bool = True
    billed_off: bool = False
    flicker: tuple[float, float] | None = None
    late_error: str | None = None  # what became of the last start that was accepted

    @property
    def state(self) -> str:
        """STOPPED, STARTING, RUNNING or STOPPING, in the product's words; a fake translates into its cloud's."""
        self.step()
        if self.flicker is not None and self.history[-1].name == "starting":
            first_s, last_s = self.flicker
            if first_s <= self._in_phase_s < last_s:
                return "STOPPED"
        return STATES[self.history[-1].name]

    @property
    def cause(self) -> str | None:
        """Why it stopped, as the cloud knows: preempted, user, guest, platform."""
        self.step()
        return self.history[-1].cause

    @property
    def in_state_since(self) -> datetime:
        """When this phase began."""
        return self.clock().wall - timedelta(seconds=self._in_phase_s)

    def step(self) -> None:
        """Whatever is due by now."""
        phase, market = self.history[-1], Market(0, self.weather)
        event = coming_event(market, self.history)
        if phase.name == "stopping" and self._in_phase_s >= market.button_s:
            self._enter(Phase("stopped", cause=phase.cause), market.button_s)
        elif event is not None and self._in_phase_s >= event.at_s:
            if event.kind == "running":
                self._enter(Phase("running"), event.at_s)
                self.last_start = self.in_state_since
            else:
                self.late_error = self._last_answer().error
                self._enter(Phase("stopped"), event.at_s)

    def start(self) -> StartAnswer:
        """A start call that reached the cloud and was allowed; how it is to be answered."""
        self.step()
        answer = answer_to_start(Market(0, self.weather), self.history)
        self.late_error = None
        if answer.begins:
            self.launched, self.billed_off = self.clock().wall, False
            self._enter(Phase("starting"))
        else:
            self._enter(Phase("refused"))
            self._enter(Phase("stopped", cause=self._cause_before()))
        return answer

    def stop(self, cause: str = "user") -> None:
        """By the API, the guest, or the cloud itself: two seconds of STOPPING."""
        self.step()
        if self.history[-1].name in UP | {"starting"}:
            self.last_stop = self.clock().wall
            self._enter(Phase("stopping", cause=cause))

    def runs(self, up_s: float = 0.0) -> None:
        """It has run for so long."""
        self.launched = self.last_start = self.clock().wall - timedelta(seconds=up_s)
        self._enter(Phase("running"))

    def cycled(self) -> None:
        """Taken, and started by somebody else, before anybody looked again."""
        self.last_stop = self.launched = self.last_start = self.clock().wall
        self._enter(Phase("stopped", cause="preempted"))
        self._enter(Phase("running"))

    @property
    def _in_phase_s(self) -> float:
        return self.clock().mono_s - self.since_s

    def _enter(self, phase: Phase, after_s: float | None = None) -> None:
        """`after_s` into the phase that goes on, which may be long past."""
        passed_s = self._in_phase_s if after_s is None else after_s
        ended = replace(self.history[-1], length_s=passed_s)
        self.history = (*self.history[:-1], ended, phase)
        self.since_s += passed_s

    def _last_answer(self) -> StartAnswer:
        tries = sum(phase.name in ("refused", "starting") for phase in self.history)
        return self.weather.start(0, tries - 1)

    def _cause_before(self) -> str | None:
        """A start that was turned down changes nothing about the last stop."""
        return next((p.cause for p in reversed(self.history[:-1]) if p.name == "stopped"), None)
