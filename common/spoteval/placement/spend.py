"""What a run cost so far, as a range, from the events of the restarter host."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from spoteval.event import Event
from spoteval.placement.cost import Segment, walked


@dataclass(frozen=True, slots=True)
class Spend:
    """Sums in `currency`. From: billed as of RUNNING was seen. To: billed as of the start call."""

    low: float
    high: float
    currency: str
    starts: int
    price_low: float
    price_high: float
    now: float | None = None  # price per hour of the machine that is up


def spend(events: Iterable[Event], until: datetime, since: datetime | None = None) -> Spend | None:
    """The spend of all starts that reached RUNNING and have a price per hour; None where there is none.

    A start whose price is in another currency than the first one's is left out. What was before `since` is not
    counted, of a machine that was up by then only the rest.
    """
    ordered = sorted(events, key=lambda item: item.at)
    found = [(one, one.price) for one in walked(ordered, until) if one.price is not None]
    currency = found[0][1].currency if found else ""
    known = [
        (cut, price.amount)
        for one, price in found
        if price.currency == currency and (cut := _clipped(one, since)) is not None
    ]
    if not known:
        return None
    last, now = known[-1]
    return Spend(
        low=sum(one.hours * amount for one, amount in known),
        high=sum(one.most_hours * amount for one, amount in known),
        currency=currency,
        starts=len(known),
        price_low=min(amount for _, amount in known),
        price_high=max(amount for _, amount in known),
        now=now if last.is_up else None,
    )


def _clipped(life: Segment, since: datetime | None) -> Segment | None:
    """What of it was after that moment."""
    if since is None:
        return life
    low = since.timestamp()
    if life.ended <= low and not life.is_up:
        return None
    return replace(life, asked=max(life.asked, low), began=max(life.began, low))
