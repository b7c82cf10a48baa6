"""`spoteval cost`: the sum as a range, its parts, where the prices came from, and what is billed while stopped."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from spoteval.clock import parse_stamp
from spoteval.placement.cost import NODE_PARTS, RESTARTER, STOPPED, Cost, Paid, Rates
from spoteval.report.words import between, money

_DAY_S = 86400


def lines(known: Cost, rates: Rates, now: datetime) -> Iterator[str]:
    """What the terminal shows."""
    cur = known.currency
    low, high = known.each(known.low), known.each(known.high)
    yield f"cost         {money(known.low, known.high)} {cur}, {_sum(known.recorded)} at recorded prices"
    if low is not None and high is not None:
        per = f"{between(_sum(low), _sum(high))} {cur} per completed episode (uninterrupted)"
        yield f"             {per}: {known.completed} of them, {known.preemptions} preemptions"
    else:
        yield f"             episodes unknown: name a pulled run, or --episodes ({known.preemptions} preemptions)"
    yield from _parts(known)
    yield f"price        {_prices(known.prices, now)}"
    if known.unpriced_h > 0:
        yield f"             {known.unpriced_h:.1f} h up without a recorded price are in no sum"
    yield f"stopped      {_stopped(rates, cur)}"


def record(known: Cost, rates: Rates) -> dict[str, object]:
    """The same as one JSON object; amounts in `currency`."""
    totals = {"low": known.low, "recorded": known.recorded, "high": known.high}
    return {
        "currency": known.currency,
        "total": totals,
        "completed_episodes": known.completed,
        "per_completed_episode": {name: known.each(total) for name, total in totals.items()},
        "preemptions": known.preemptions,
        "parts": {_key(part): amount for part, amount in known.parts.items()},
        "hours": {_key(part): hours for part, hours in known.hours.items()},
        "unpriced_h": known.unpriced_h,
        "prices_per_h": [
            {"amount": one.amount, "kind": one.kind, "as_of": one.as_of} for one in known.prices
        ],
        "billed_while_stopped_per_h": rates.stopped,
        "restarter_per_h": rates.restarter,
    }


def _parts(known: Cost) -> Iterator[str]:
    label = "parts"
    for part in (*NODE_PARTS, STOPPED, RESTARTER):
        amount, hours = known.parts[part], known.hours[part]
        if hours > 0:
            share = 100 * amount / known.recorded if known.recorded else 0.0
            yield f"{label:<13}{part:<34}{_sum(amount):>9}  {share:3.0f} %  {hours:8.2f} h"
            label = ""


def _prices(prices: Sequence[Paid], now: datetime) -> str:
    amounts = [one.amount for one in prices]
    cur, kinds = prices[0].currency, ", ".join(sorted({one.kind for one in prices}))
    rate = between(f"{min(amounts):.2f}", f"{max(amounts):.2f}")
    ages = [age for one in prices if (age := _age_days(one, now)) is not None]
    told = f"{rate} {cur}/h ({kinds}), read at each start"
    if not ages:
        return told
    span = between(str(min(ages)), str(max(ages)))
    return f"{told}; as of {span} days ago"


def _age_days(one: Paid, now: datetime) -> int | None:
    try:
        as_of = parse_stamp(one.as_of) if one.as_of is not None else None
    except ValueError:
        return None
    return max(0, int((now - as_of).total_seconds() // _DAY_S)) if as_of is not None else None


def _stopped(rates: Rates, currency: str) -> str:
    if rates.stopped is None:
        return "disks and addresses are billed too: unknown here (--stopped-price), and in no sum"
    return f"still billed while stopped: {rates.stopped:.2f} {currency}/h"


def _sum(amount: float) -> str:
    return f"{amount:.{0 if amount >= 100 else 2 if amount >= 0.1 else 4}f}"


def _key(part: str) -> str:
    return part.replace(" ", "_")
