"""The local cloud without processes: the same market and the same driver's table, in virtual time.

The guest on it is thin: it puts facts, works, and when its work is done places its hold and powers off.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from spoteval.local.cloud import Request
from spoteval.local.market import (
    NEW,
    History,
    Market,
    Phase,
    boots,
    coming_event,
    preemptions,
    price,
)
from spoteval.local.node_decide import STATES, Seen, Step, decide

DOWN_S, RESUME_S, SERVE_S = 1.0, 20.0, 100.0
"""After a power button until the units are down; after RUNNING until it resumes; from there until it serves."""


@dataclass
class VirtualCloud:
    """One instance. `advance` moves it to a moment, event by event, and tells `at_change` of each new phase."""

    market: Market
    at_change: Callable[["VirtualCloud", Step], None]
    seconds: float = 0.0
    history: History = NEW
    began_s: float = 0.0
    last_start_s: float | None = None
    poweroff_asked: bool = False

    @property
    def state(self) -> str:
        """The provider's word."""
        return STATES[self.history[-1].name]

    @property
    def cause(self) -> str | None:
        """Why it is stopped."""
        return self.history[-1].cause

    @property
    def boot(self) -> int:
        """Number of the life that is or was the last one."""
        return boots(self.history)

    @property
    def preempted(self) -> int:
        """Preemptions so far."""
        return len(preemptions(self.history))

    @property
    def price(self) -> float:
        """Dollars an hour."""
        return price(self.market, self.history)

    def advance(self, to_s: float) -> None:
        """Let happen what happens until then."""
        while (due_s := self._due_s()) is not None and due_s <= to_s:
            self.seconds = max(self.seconds, due_s + 1e-6)  # sums of seconds are not exact
            if (step := decide(self.market, self.history, self._seen())) is None:
                break
            self._take(step)
        self.seconds = max(self.seconds, to_s)

    def ask(self, verb: str) -> tuple[int, str | None]:
        """One call, taking effect at once; its answer."""
        step = decide(self.market, self.history, replace(self._seen(), request=Request("x", verb)))
        assert step is not None
        assert step.answer is not None
        self._take(step)
        return step.answer

    def power_off(self) -> None:
        """The guest asks for it."""
        self.poweroff_asked = True
        self.advance(self.seconds)

    def _due_s(self) -> float | None:
        event = coming_event(self.market, self.history)
        dues = [event.at_s] if event is not None else []
        own = {"stopping": DOWN_S, "running": RESUME_S, "resuming": SERVE_S}
        dues += [own[self.history[-1].name]] if self.history[-1].name in own else []
        dues += [0.0] if self.poweroff_asked and self.state == "RUNNING" else []
        return self.began_s + min(dues) if dues else None

    def _seen(self) -> Seen:
        in_phase_s = self.seconds - self.began_s
        name = self.history[-1].name
        return Seen(
            in_phase_s=in_phase_s,
            resume_began=name == "running" and in_phase_s >= RESUME_S,
            first_episode=name == "resuming" and in_phase_s >= SERVE_S,
            poweroff_asked=self.poweroff_asked,
            units_down=name == "stopping" and in_phase_s >= DOWN_S,
        )

    def _take(self, step: Step) -> None:
        length_s = self.seconds - self.began_s
        for phase in step.phases:
            self._begin(phase, length_s)
            length_s = 0.0
        if step.deed == "boot":
            self.last_start_s, self.poweroff_asked = self.seconds, False
        self.at_change(self, step)

    def _begin(self, phase: Phase, length_s: float) -> None:
        ended = replace(self.history[-1], length_s=length_s)
        self.history = (*self.history[:-1], ended, phase)
        self.began_s = self.seconds
