"""What a history follows from: its seed, and for a replay the faults that are left."""

from dataclasses import dataclass
from datetime import timedelta

from restarter_story import NOON
from sim.fault_plan import Struck
from sim.rows_seen import rows_there
from sim.virtual_weather import SimWeather
from spoteval.config.grant import Grant
from spoteval.config.restarter import PollSettings
from spoteval.settings.money import Money

SHAPES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
MEDIAN_S = 2300.0
"""The median of the lives that are drawn: half an hour, and what holds and ends of runs cut off."""
ROUGH = (1.0, 1.0, 0.5, 2.0, 1.0, 1.0, 0.0)
HOUR_S = 3600.0
LONGEST_S = (3 * HOUR_S, 4 * HOUR_S, 3 * HOUR_S, 6 * HOUR_S, 3 * HOUR_S, 24 * HOUR_S)
"""After so long the provider ends every life: a day on many clouds; mostly less, as days without events show little."""
TYPE, OTHER_TYPE, REGION = "gpu-8", "gpu-4", "north-1"
_DEFAULT = PollSettings()
_SHORT = PollSettings(every_s=120.0, start_window_s=300.0, backoff_max_s=400.0)
_SLOW = PollSettings(every_s=180.0, in_motion_s=20.0, start_window_s=600.0, backoff_max_s=800.0)
_RARE = PollSettings(every_s=300.0, in_motion_s=30.0)
_POLLS = (_DEFAULT, _RARE, _SLOW, _RARE, _SHORT, _RARE, _SLOW)
UNTIL_H = (4.0, 1000.0, 12.0)
"""Hours from the beginning to the end of the grant, which people move on when it has come."""
_LIMITS = ((30, 60.0), (6, 60.0), (30, 12.0), (12, 25.0))
"""Starts and dollars that a run may take."""


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
        """The restarter's times: as they come, with short windows, or slow where days would be long."""
        found = _POLLS[self.seed % len(_POLLS)]
        return _SHORT if found is _DEFAULT and (self.two or self.idle) else found

    @property
    def idle(self) -> bool:
        """Whether guests never switch themselves off: both enders are dead, and lives are long enough to tell."""
        return self.seed % 8 in (2, 3, 6, 7)

    @property
    def weather(self) -> SimWeather:
        """How long lives last."""
        return SimWeather(
            self.shape,
            MEDIAN_S * (1.6 if self.idle else 1.0),
            longest_s=max(LONGEST_S[self.seed // 5 % len(LONGEST_S)], 6 * HOUR_S * self.idle),
        )

    @property
    def grant(self) -> Grant:
        """What may be spent: every limit of the grant is set, and which one is reached first differs."""
        starts, spend = _LIMITS[self.seed // 18 % len(_LIMITS)]
        return Grant(
            price_cap=Money(10.0, "USD", "hour"),
            spend=Money(spend, "USD"),
            starts=starts,
            types=(TYPE,),
            regions=(REGION,),
            until=NOON + timedelta(hours=self.until_h),
        )

    @property
    def until_h(self) -> float:
        """Hours until the grant ends for the first time."""
        return UNTIL_H[self.seed // 5 % len(UNTIL_H)]


def scene_of(seed: int) -> Scene:
    """The scene with this number: all kinds come up, each with all the others.

    Two restarters need the row that lets only the owner start.
    """
    two = seed % 13 in (3, 8) and 16 in rows_there()
    return Scene(seed, ROUGH[seed // 5 % len(ROUGH)], two=two, disk=seed % 50 == 17)
