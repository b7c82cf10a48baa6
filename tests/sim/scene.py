"""What a history follows from: its seed, and for a replay the faults that are left."""

from dataclasses import dataclass

from sim.fault_plan import Struck
from sim.rows_seen import rows_there
from spoteval.config.grant import Grant
from spoteval.config.restarter import PollSettings
from spoteval.settings.money import Money

SHAPES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
MEDIAN_S = 2280.0
"""The median of the lives that are drawn: half an hour, and what holds and ends of runs cut off."""
ROUGH = (1.0, 1.0, 0.5, 2.0, 1.0, 1.0, 0.0)
_POLLS = (
    PollSettings(),
    PollSettings(start_window_s=300.0, backoff_max_s=400.0),
    PollSettings(every_s=180.0, in_motion_s=20.0, start_window_s=600.0, backoff_max_s=800.0),
)
_LIMITS = (
    Grant(price_cap=Money(10.0, "USD", "hour")),
    Grant(price_cap=Money(10.0, "USD", "hour"), starts=6),
    Grant(price_cap=Money(10.0, "USD", "hour"), spend=Money(12.0, "USD")),
)


@dataclass(frozen=True, slots=True)
class Scene:
    """`rough`: how much goes wrong, 0 nothing. `two`: two restarters. `disk`: the store is a real directory."""

    seed: int
    rough: float = 1.0
    two: bool = False
    disk: bool = False
    only: frozenset[Struck] | None = None

    @property
    def arguments(self) -> str:
        """How it is named on the command line."""
        return f"--seed {self.seed} --rough {self.rough:g} --{'' if self.two else 'no-'}two"

    @property
    def shape(self) -> float:
        """The Weibull shape of its lives."""
        return SHAPES[self.seed % len(SHAPES)]

    @property
    def poll(self) -> PollSettings:
        """The restarter's times: as they come, with short windows, or slow."""
        return _POLLS[self.seed // 6 % 3]

    @property
    def grant(self) -> Grant:
        """What may be spent: by price alone, or so many starts or so much money for a run."""
        return _LIMITS[self.seed // 18 % 3]


def scene_of(seed: int) -> Scene:
    """The scene with this number: all kinds come up, each with all the others.

    Two restarters need the row that lets only the owner start.
    """
    two = seed % 8 == 3 and 16 in rows_there()
    return Scene(seed, ROUGH[seed // 5 % len(ROUGH)], two=two, disk=seed % 50 == 17)
