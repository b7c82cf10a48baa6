"""The local cloud without processes: the same market and the same driver's table, in virtual time.

Besides the weather it has spells: an instance that is gone, or cannot be restarted, or that only the provider
restarts, for a while; and requests that take effect later than they were made.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from spoteval.local.cloud import Request
from spoteval.local.market import (
    NEW,
    UP,
    History,
    Market,
    Phase,
    boots,
    coming_event,
    drawn,
    preemptions,
    price,
)
from spoteval.local.node_decide import STATES, Seen, Step, decide

DOWN_S, RESUME_S, SERVE_S = 1.0, 20.0, 100.0
"""After a power button until the units are down; after RUNNING until it resumes; from there until it serves."""
SPELLS = (("GONE", 0.09), ("UNRESTARTABLE", 0.06), ("provider-restarts", 0.05))
_NAMES = ("GONE", "UNRESTARTABLE")


@dataclass(frozen=True, slots=True)
class Spell:
    """For a while the stopped instance is in a state that the market does not know."""

    name: str
    until_s: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the provider's table says from `at_s` on."""

    at_s: float
    state: str
    cause: str | None = None
    last_start_s: float | None = None
    auto_restart: bool = False


@dataclass
class VirtualCloud:
    """One instance. `advance` moves it to a moment, event by event, and tells `at_change` of each new phase.

    `boot` is the number of the life that is or was the last one, `preempted` counts preemptions.
    """

    market: Market
    at_change: Callable[["VirtualCloud", Step], None]
    seconds: float = 0.0
    history: History = NEW
    began_s: float = 0.0
    last_start_s: float | None = None
    poweroff_asked: bool = False
    spell: Spell | None = None
    later: list[tuple[float, str]] = field(default_factory=list)
    calm: bool = False  # no spells

    def __post_init__(self) -> None:
        self.said = [Snapshot(0.0, "STOPPED")]
        self.boot = self.preempted = 0
        self._phase_due_s = self._market_due_s()

    @property
    def state(self) -> str:
        """The provider's word."""
        if self.spell is not None and self.spell.name in _NAMES:
            return self.spell.name
        return STATES[self.history[-1].name]

    @property
    def cause(self) -> str | None:
        """Why it is stopped."""
        return self.history[-1].cause

    @property
    def price(self) -> float:
        """Dollars an hour."""
        return price(self.market, self.history)

    def as_of(self, at_s: float) -> Snapshot:
        """What it said at that moment."""
        return next((item for item in reversed(self.said) if item.at_s <= at_s), self.said[0])

    def advance(self, to_s: float) -> None:
        """Let happen what happens until then."""
        while (due := self._due()) is not None and due[0] <= to_s:
            self.seconds = max(self.seconds, due[0] + 1e-6)  # sums of seconds are not exact
            if not self._happens(due[1]):
                break
        self.seconds = max(self.seconds, to_s)

    def ask(self, verb: str) -> tuple[int, str | None]:
        """One call, taking effect at once; its answer."""
        if verb == "start" and self.spell is not None:
            return (404, "gone") if self.spell.name == "GONE" else (409, self.spell.name)
        step = decide(self.market, self.history, replace(self._seen(), request=Request("x", verb)))
        assert step is not None
        assert step.answer is not None
        self._take(step)
        return step.answer

    def ask_later(self, verb: str, after_s: float) -> None:
        """One call that takes effect after its answer was given up."""
        self.later.append((self.seconds + after_s, verb))

    def power_off(self) -> None:
        """The guest asks for it."""
        self.poweroff_asked = True
        self.advance(self.seconds)

    # What comes next

    def _due(self) -> tuple[float, str] | None:
        dues = [(at_s, verb) for at_s, verb in self.later]
        if self._phase_due_s is not None:
            dues.append((self._phase_due_s, "phase"))
        if self.poweroff_asked and self.history[-1].name in (*UP, "noticed"):
            dues.append((self.began_s, "phase"))
        if self.spell is not None:
            dues.append((self.spell.until_s, "spell"))
        return min(dues, default=None)

    def _happens(self, what: str) -> bool:
        if what == "spell":
            self._spell_ends()
            return True
        if what != "phase":
            self.later.remove(min(self.later))
            self.ask(what)
            return True
        if (step := decide(self.market, self.history, self._seen())) is None:
            return False
        self._take(step)
        return True

    def _market_due_s(self) -> float | None:
        event = coming_event(self.market, self.history)
        dues = [event.at_s] if event is not None else []
        own = {"stopping": DOWN_S, "running": RESUME_S, "resuming": SERVE_S}
        dues += [own[self.history[-1].name]] if self.history[-1].name in own else []
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

    # What has come

    def _take(self, step: Step) -> None:
        length_s = self.seconds - self.began_s
        for phase in step.phases:
            self._begin(phase, length_s)
            length_s = 0.0
        if step.deed == "boot":
            self.last_start_s, self.poweroff_asked = self.seconds, False
        if step.phases:
            self.boot, self.preempted = boots(self.history), len(preemptions(self.history))
            self._phase_due_s = self._market_due_s()
            self._spell_begins()
            self._say()
        self.at_change(self, step)

    def _begin(self, phase: Phase, length_s: float) -> None:
        ended = replace(self.history[-1], length_s=length_s)
        self.history = (*self.history[:-1], ended, phase)
        self.began_s = self.seconds

    def _say(self) -> None:
        auto = self.spell is not None and self.spell.name == "provider-restarts"
        cause = self.cause if self.state == "STOPPED" else None
        now = Snapshot(self.seconds, self.state, cause, self.last_start_s, auto)
        self.said = [*self.said[-8:], now]

    def _spell_begins(self) -> None:
        """Now and then a life that has ended leaves the instance in a state of its own for a while."""
        ended_up = len(self.history) > 1 and self.history[-2].name in (*UP, "noticed", "stopping")
        if self.calm or self.history[-1].name != "stopped" or not ended_up:
            return
        draw = drawn(self.market.seed, "spell", len(self.history))
        luck = draw.random()
        for name, share in SPELLS:
            luck -= share
            if luck < 0:
                self.spell = Spell(name, self.seconds + draw.uniform(60.0, 2400.0))
                return

    def _spell_ends(self) -> None:
        assert self.spell is not None
        name, self.spell = self.spell.name, None
        self._say()
        if name == "provider-restarts":
            self.ask("start")
