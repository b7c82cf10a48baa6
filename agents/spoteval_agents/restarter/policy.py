"""What the restarter is told once, and the arithmetic of its waits."""

from dataclasses import dataclass

from spoteval.clock import Mark, Now, elapsed_s
from spoteval.config.restarter import PollSettings
from spoteval.config.shared import Money

FRESH_S = 15.0
"""An observation of this age or older starts nothing: the world has gone on."""
REPORT_UNKNOWN_S = 900.0
REPORT_UNHEARD_POLLS = 3
_STOP_EVERY_S, _STOP_EVERY_MAX_S = 120.0, 1800.0
_DOUBLINGS = 30  # more of them only overflow; every cap is reached long before


@dataclass(frozen=True, slots=True)
class Policy:
    """One instance's settings. `hold_path` is the touch file, as a person types it."""

    instance: str
    hold_path: str
    poll: PollSettings
    cap: Money | None = None


def backoff_s(failures: int, start_window_s: float, max_s: float) -> float:
    """Seconds of waiting after this many failures in a row: an eighth of a start window, doubled each time."""
    if failures < 1:
        return 0.0
    return min(max_s, start_window_s / 8 * 2.0 ** min(failures - 1, _DOUBLINGS))


def stop_every_s(stops: int) -> float:
    """Seconds between the stop request with this number (from 1) and the next one."""
    return min(_STOP_EVERY_MAX_S, _STOP_EVERY_S * 2.0 ** min(stops - 1, _DOUBLINGS))


def since_s(mark: Mark, now: Now) -> float:
    """Seconds since `mark`; none have passed while nobody can know, so that every wait stays a wait."""
    seconds = elapsed_s(mark, now)
    return 0.0 if seconds is None else seconds
