"""What the restarter is told once, and the arithmetic of its waits."""

from dataclasses import dataclass, field

from spoteval.clock import Mark, Now, elapsed_s
from spoteval.config.grant import Grant
from spoteval.config.restarter import PollSettings
from spoteval.settings.money import Money
from spoteval.shape import Reading, Unreadable

FRESH_S = 15.0
"""An observation of this age or older starts nothing: the world has gone on."""
REPORT_UNKNOWN_S = 900.0
REPORT_OUTAGE_S = 1800.0
REPORT_UNHEARD_POLLS = 3
GONE_POLLS, GONE_S = 3, 180.0
OVER_S = 7200.0
KEEP_FRESH_S = 7200.0
SILENT_S = 2700.0
UNRESTARTABLE_POLLS = 2
REFUSED_POLLS = 2
OWNER_POLLS = 2
FACELESS_BOOTS = 2
UNDONE_STOPS = 3
PAUSES_S = (1800.0, 3600.0, 7200.0)
"""Of the loop guard; after the last of them, a hold."""
_STOP_EVERY_S, _STOP_EVERY_MAX_S = 120.0, 1800.0
_RATED_MAX_S = 900.0
_DOUBLINGS = 30  # more of them only overflow; every cap is reached long before


@dataclass(frozen=True, slots=True)
class Policy:
    """One instance's settings. `hold_path` is the touch file, as a person types it.

    `identity` is this host's own name in the owner register; None: no register is kept. `local`: holds are files of
    this host alone, and there is no store. `cancels`: the provider can stop what is still starting.
    """

    instance: str
    hold_path: str
    poll: PollSettings
    grant: Grant = field(default_factory=Grant)
    identity: Reading[str | None] = None
    local: bool = False
    type: str | None = None
    region: str | None = None
    stopped_price: Money | None = None
    cancels: bool = True

    @property
    def retry_s(self) -> float:
        """Seconds of waiting after a first failed start: an eighth of a start window."""
        return self.poll.start_window_s / 8


def backoff_s(failures: int, start_window_s: float, max_s: float) -> float:
    """Seconds of waiting after this many failures in a row: an eighth of a start window, doubled each time."""
    if failures < 1:
        return 0.0
    return min(max_s, start_window_s / 8 * 2.0 ** min(failures - 1, _DOUBLINGS))


def stop_every_s(stops: int) -> float:
    """Seconds between the stop request with this number (from 1) and the next one."""
    return min(_STOP_EVERY_MAX_S, _STOP_EVERY_S * 2.0 ** min(stops - 1, _DOUBLINGS))


def guard_pause_s(short_runs: int, limit: int) -> float | None:
    """Seconds of pause after so many short runs in a row: 0 below the limit; None: no pause is long enough."""
    past = short_runs - limit
    if past < 0:
        return 0.0
    return PAUSES_S[past] if past < len(PAUSES_S) else None


def rated_s(every_s: float, refusals: int) -> float:
    """Seconds between two looks after so many refusals for too many requests: doubled each time, up to 15 min."""
    if refusals < 1:
        return every_s
    return max(every_s, min(_RATED_MAX_S, every_s * 2.0 ** min(refusals, _DOUBLINGS)))


def since_s(mark: Mark, now: Now) -> float:
    """Seconds since `mark`; none have passed while nobody can know, so that every wait stays a wait."""
    seconds = elapsed_s(mark, now)
    return 0.0 if seconds is None else seconds


def own_identity(policy: Policy) -> str | None:
    """This host's name in the register; None where it has none, or it cannot be read: then it owns nothing."""
    return None if isinstance(policy.identity, Unreadable) else policy.identity
