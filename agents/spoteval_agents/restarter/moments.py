"""Moments that a provider tells, and which of two is the later one. Pure."""

from datetime import datetime

from spoteval.clock import stamp


def is_later(moment: datetime, other: datetime) -> bool:
    """Later as far as the state on disk can tell, which keeps milliseconds: providers tell microseconds."""
    return stamp(moment) > stamp(other)


def latest(known: datetime | None, said: datetime | None) -> datetime | None:
    """The later one. A provider that answers from an old page names an older start: it was not unmade."""
    if known is None or said is None:
        return said if known is None else known
    return said if is_later(said, known) else known
