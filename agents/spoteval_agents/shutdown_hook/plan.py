"""The stop plan: what must be done by when, for the time that is left."""

from dataclasses import dataclass
from itertools import pairwise

from spoteval.config.guest import ShutdownSettings
from spoteval.config.window import reserve_s

REFUSED_BELOW_S = 3.0
FIRST_STEP_ONLY_S = 5.0

# Usable seconds: own stop by, empty by, salvage by; seconds from the marker on. Linear in between.
_ROWS = (
    (5.0, (1.0, 1.5, 1.5)),
    (8.0, (2.5, 3.5, 4.5)),
    (25.0, (10.0, 12.0, 15.0)),
    (50.0, (22.0, 25.0, 32.0)),
    (90.0, (40.0, 45.0, 60.0)),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """Bounds in seconds from the marker on. `usable_s` is what is left after the reserve.

    Where the plan is `refused`, nothing is stopped or copied: there is time for the marker and the records alone.
    """

    window_s: float
    usable_s: float
    own_by_s: float = 0.0
    empty_by_s: float = 0.0
    salvage_by_s: float | None = None
    final_by_s: float = 0.0
    first_step_only: bool = False

    @property
    def refused(self) -> bool:
        """Whether the time is too short to stop anything in order."""
        return self.usable_s < REFUSED_BELOW_S


def plan_for(window_s: float, typed: ShutdownSettings) -> Plan:
    """The plan for a machine that goes in `window_s` seconds; values typed in [shutdown] are upper bounds."""
    usable_s = max(0.0, window_s - reserve_s(window_s))
    if usable_s < REFUSED_BELOW_S:
        return Plan(window_s, usable_s, final_by_s=usable_s)
    own_s, empty_s, salvage_s = _row(usable_s)
    own_s, empty_s = _scaled(own_s, min(empty_s, usable_s / 2), typed.stop_s)
    copying_s = _bounded(salvage_s - _row(usable_s)[1], typed.salvage_s)
    salvage_by_s = empty_s + copying_s if usable_s > FIRST_STEP_ONLY_S else None
    before_s = empty_s if salvage_by_s is None else salvage_by_s
    return Plan(
        window_s=window_s,
        usable_s=usable_s,
        own_by_s=own_s,
        empty_by_s=empty_s,
        salvage_by_s=salvage_by_s,
        final_by_s=before_s + _bounded(usable_s - before_s, typed.final_pass_s),
        first_step_only=usable_s <= FIRST_STEP_ONLY_S,
    )


def _scaled(own_s: float, empty_s: float, stop_s: float | None) -> tuple[float, float]:
    """A bound on the whole stop shrinks the harness's own part in proportion, so that KILL keeps its share."""
    if stop_s is None or stop_s >= empty_s:
        return own_s, empty_s
    return own_s * stop_s / empty_s, stop_s


def _bounded(value_s: float, typed_s: float | None) -> float:
    return value_s if typed_s is None else min(value_s, typed_s)


def _row(usable_s: float) -> tuple[float, float, float]:
    """The table at `usable_s`: its ends hold beyond them, in between it is linear."""
    if usable_s <= _ROWS[0][0]:
        return _ROWS[0][1]
    for (low_s, low), (high_s, high) in pairwise(_ROWS):
        if usable_s <= high_s:
            share = (usable_s - low_s) / (high_s - low_s)
            own, empty, salvage = (a + (b - a) * share for a, b in zip(low, high, strict=True))
            return own, empty, salvage
    return _ROWS[-1][1]
