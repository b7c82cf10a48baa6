"""What the lab's market has in store: power buttons, with a window before the plug, at seeded or commanded moments."""

from dataclasses import dataclass, field

from spoteval.local.market import History, StartAnswer, Strike, boots, drawn, preemptions
from spoteval.local.weather import Calm

BUTTON, PLUG = Strike(0.0, noticed=True, button=True), Strike(0.0, noticed=False, button=False)


@dataclass(slots=True)
class Commanded:
    """Nothing happens but what is asked for: a refused start, the power button or the plug for the life that goes on.

    The notice of the local cloud has no length here: the machine learns from its own shutdown, as on clouds that
    give no other sign.
    """

    window_s: float = 0.0
    _asked: Strike | None = None
    _taken: tuple[int, Strike] | None = None
    _refuse: int = 0
    _refused: set[int] = field(default_factory=set)

    def take(self) -> None:
        """Press the power button at the next look."""
        self._asked = BUTTON

    def cut(self) -> None:
        """Pull the plug at the next look, without a word."""
        self._asked = PLUG

    def refuse(self, starts: int) -> None:
        """Turn the next starts down for want of capacity."""
        self._refuse = starts

    def start(self, seed: int, attempt: int) -> StartAnswer:
        """Accepted and running in a tenth of a second, but for as many refusals as were asked for."""
        if self._refuse > 0 and attempt not in self._refused:
            self._refuse -= 1
            self._refused.add(attempt)
        return _start(attempt not in self._refused)

    def strike(self, seed: int, history: History) -> Strike | None:
        """As asked, for the life in which it was first seen."""
        if self._asked is not None:
            self._taken, self._asked = (boots(history), self._asked), None
        is_this = self._taken is not None and self._taken[0] == boots(history)
        return self._taken[1] if self._taken is not None and is_this else None


@dataclass(frozen=True, slots=True)
class Seeded(Calm):
    """A life each is taken by its power button at a moment that the seed draws: in this many lives, then no more.

    One of them strikes while the guest resumes, the others while it serves.
    """

    lives: int = 3
    window_s: float = 0.0
    serves_s: tuple[float, float] = (3.0, 12.0)
    resumes_s: tuple[float, float] = (0.2, 3.0)

    def start(self, seed: int, attempt: int) -> StartAnswer:
        """Every third call or so finds no capacity."""
        return _start(not attempt or drawn(seed, "lab-start", attempt).random() >= 0.34)

    def strike(self, seed: int, history: History) -> Strike | None:
        """By the phase that goes on and how many were taken before."""
        taken, phase = len(preemptions(history)), history[-1].name
        if taken >= self.lives:
            return None
        resuming = drawn(seed, "lab-resuming").randrange(1, self.lives)
        wanted, between = (
            ("resuming", self.resumes_s) if taken == resuming else ("serving", self.serves_s)
        )
        if phase != wanted:
            return None
        at_s = drawn(seed, "lab-strike", boots(history)).uniform(*between)
        return Strike(at_s, noticed=True, button=True)


def _start(there_is_room: bool) -> StartAnswer:
    if there_is_room:
        return StartAnswer(200, None, begins=True, runs=True, after_s=0.1)
    return StartAnswer(503, "no capacity", begins=False, runs=False, after_s=0.0)
