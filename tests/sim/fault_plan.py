"""What goes wrong, cycle by cycle, from one seed.

Each cycle takes the same number of draws whatever happens, so that one fault can be left out and all others
stay: that is how a failing history is shrunk.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

PROBABILITIES: Mapping[str, float] = {
    # the provider
    "timeout": 0.025,
    "slow": 0.02,
    "lie": 0.025,
    "lost-request": 0.12,
    "lost-answer": 0.12,
    "dear": 0.01,
    "no-price": 0.01,
    "hold-at-price": 0.03,
    # the store
    "late-list": 0.05,
    "store-away": 0.014,
    "put-lost": 0.15,
    # the host and its clock
    "clock-jump": 0.009,
    "unsynced": 0.014,
    "crash-before": 0.02,
    "crash-after": 0.03,
    "power-cut": 0.012,
    "slow-disk": 0.01,
    # people
    "touch": 0.001,
    "hold": 0.0015,
    "hold-stop": 0.0015,
    "console-stop": 0.003,
    "lift": 0.12,
    "next-run": 0.12,
    "adopt": 0.002,
    "console-start": 0.1,
    "misfit": 0.0008,
    "config": 0.12,
}
"""How probable each is in one cycle of ordinary roughness."""

PEOPLE = frozenset(
    [
        "touch",
        "hold",
        "hold-stop",
        "console-stop",
        "lift",
        "next-run",
        "adopt",
        "console-start",
        "misfit",
        "config",
    ]
)
"""What people do: no rougher where the rest is."""

Struck = tuple[int, str]
"""A fault by the number of its cycle and its kind."""


@dataclass(slots=True)
class Faults:
    """What goes wrong in one cycle: each kind with the number in [0, 1) that says how.

    `moment`: when people act before the next cycle, `pause`: how long a dead process stays down; both in [0, 1).
    """

    cycle: int = 0
    moment: float = 0.5
    pause: float = 0.5
    kinds: dict[str, float] = field(default_factory=dict)

    def __contains__(self, kind: str) -> bool:
        return kind in self.kinds

    def within(self, kind: str, low: float, high: float) -> float:
        """The size of a fault, `low` where it is not there at all."""
        return low + (high - low) * self.kinds[kind] if kind in self.kinds else low


@dataclass
class FaultPlan:
    """Draws the faults of one cycle after the other. `only`: these and no others, for replays. `struck`: all so far."""

    seed: int
    rough: float = 1.0
    only: frozenset[Struck] | None = None
    cycle: int = -1

    def __post_init__(self) -> None:
        self._dice = Random(self.seed)
        self.struck: list[Struck] = []

    def next(self, boost: float = 1.0) -> Faults:
        """The faults of the next cycle. `boost` multiplies all but what people do."""
        self.cycle += 1
        draw = self._dice.random
        faults = Faults(self.cycle, draw(), draw())
        for kind, probability in PROBABILITIES.items():
            luck, size = draw(), draw()
            if self._strikes(kind, luck, probability, boost):
                faults.kinds[kind] = size
                self.struck.append((self.cycle, kind))
        return faults

    def _strikes(self, kind: str, luck: float, probability: float, boost: float) -> bool:
        if self.only is not None:
            return (self.cycle, kind) in self.only
        if kind in PEOPLE:
            return luck < probability
        return luck < min(0.25, probability * boost) * self.rough
