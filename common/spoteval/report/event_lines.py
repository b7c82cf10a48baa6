"""Events as rows of a table."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from spoteval.event import Event
from spoteval.line import Value, flat, render

HEAD = ("AT (UTC)", "INSTANCE", "EVENT", "BY", "WHAT")


def cells(event: Event) -> Sequence[str]:
    """When, where, what, by whom, and what belongs to it."""
    return (_clock(event.at), event.instance, event.kind, event.source, _what(event))


def _clock(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def _what(event: Event) -> str:
    """Reason, evidence, price, then the plain values of the detail."""
    shown = event.evidence if event.evidence != event.reason else None
    words = [event.reason or "", f"({shown})" if shown else ""]
    words += [_price(event.price) if event.price is not None else "", _detail(event)]
    return flat(" ".join(word for word in words if word))


def _price(price: Mapping[str, object]) -> str:
    amount = price.get("amount")
    figure = f"{amount:.2f}" if isinstance(amount, int | float) else str(amount)
    return f"{figure} {price.get('currency')}/{price.get('per')} {price.get('kind')}"


def _detail(event: Event) -> str:
    """The plain values, without those that the event has said already and flags that are not set."""
    said = {"instance", "reason", *(["at"] if event.kind == "hold-seen" else [])}
    plain: dict[str, Value] = {
        key: value
        for key, value in event.detail.items()
        if isinstance(value, str | int | float) and key not in said and value is not False
    }
    return render(plain)
