"""The check of the clock."""

from spoteval.clock import Now
from spoteval.report.check import Check, ok, warn


def clock_check(now: Now) -> Check:
    """Deadlines by the wall clock wait for one that may be believed."""
    if now.synced:
        return ok("clock", "synchronised")
    return warn("clock", "not synchronised: deadlines wait for it (timedatectl set-ntp true)")
