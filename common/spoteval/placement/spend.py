"""What a run cost so far, as a range, from the events of the restarter host."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from spoteval.event import Event

_HOUR_S = 3600.0


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


@dataclass(frozen=True, slots=True)
class _Life:
    asked: datetime
    running: datetime
    stopped: datetime | None
    per_hour: float


def spend(events: Iterable[Event], until: datetime, since: datetime | None = None) -> Spend | None:
    """The spend of all starts that reached RUNNING and have a price per hour; None where there is none.

    A start whose price is in another currency than the first one's is left out. What was before `since` is not
    counted, of a machine that was up by then only the rest.
    """
    lives, currency = _lives(events)
    lives = [cut for life in lives if (cut := _clipped(life, since)) is not None]
    if not lives or currency is None:
        return None
    return Spend(
        low=sum(_cost(life, life.running, until) for life in lives),
        high=sum(_cost(life, life.asked, until) for life in lives),
        currency=currency,
        starts=len(lives),
        price_low=min(life.per_hour for life in lives),
        price_high=max(life.per_hour for life in lives),
        now=lives[-1].per_hour if lives[-1].stopped is None else None,
    )


def _lives(events: Iterable[Event]) -> tuple[list[_Life], str | None]:
    lives: list[_Life] = []
    asked: tuple[datetime, float] | None = None
    currency: str | None = None
    for event in sorted(events, key=lambda item: item.at):
        price = _per_hour(event.price)
        if event.kind in ("start-asked", "manual-start"):
            asked = (event.at, price[0]) if price and currency in (None, price[1]) else None
            currency = price[1] if asked and price else currency
        elif event.kind == "running" and asked is not None:
            lives.append(_Life(asked[0], event.at, None, asked[1]))
            asked = None
        elif event.kind == "stopped" and lives and lives[-1].stopped is None:
            last = lives.pop()
            lives.append(_Life(last.asked, last.running, event.at, last.per_hour))
    return lives, currency


def _clipped(life: _Life, since: datetime | None) -> _Life | None:
    if since is None:
        return life
    if life.stopped is not None and life.stopped <= since:
        return None
    return replace(life, asked=max(life.asked, since), running=max(life.running, since))


def _per_hour(price: Mapping[str, object] | None) -> tuple[float, str] | None:
    if price is None or price.get("per") != "hour":
        return None
    amount = price.get("amount")
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return None
    return float(amount), str(price.get("currency"))


def _cost(life: _Life, since: datetime, until: datetime) -> float:
    hours = ((life.stopped or until) - since).total_seconds() / _HOUR_S
    return max(0.0, hours) * life.per_hour
