"""Short ways to write the events of a story: seconds after a fixed moment."""

from datetime import UTC, datetime, timedelta

from spoteval.event import Event

ZERO = datetime(2026, 12, 1, 20, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """The moment so many seconds after the story began."""
    return ZERO + timedelta(seconds=seconds)


def told(
    seconds: float,
    kind: str,
    session: str | None = None,
    price: float | None = None,
    **detail: object,
) -> Event:
    """One event of the story."""
    paid = {"amount": price, "currency": "USD", "per": "hour", "kind": "spot"}
    return Event(
        at=at(seconds),
        kind=kind,
        source="restarter",
        instance="gpu-1",
        session=session,
        price=paid if price is not None else None,
        detail=detail,
    )


def restart(seconds: float, session: str = "s1") -> tuple[Event, ...]:
    """One whole way back, of 1 + 2 + 1 + 3 + 1 seconds after a start call at `seconds`."""
    return (
        told(seconds, "start-asked", price=3.2),
        told(seconds + 2, "running"),
        told(seconds + 2.5, "booted", session),
        told(seconds + 2.6, "resume-began", session),
        told(seconds + 9, "server-start", session, at="2026-12-01T20:00:00.000Z"),
        told(seconds + 6, "healthy", session),
        told(seconds + 7, "first-episode", session),
    )
