"""When a run may be done: a range that chance explains, and never a date from nothing."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoteval.report.eta import LEAST, Eta, Pace, between, eta, pace, spare
from spoteval.report.timeline import Piece
from spoteval.shape import Unreadable

NOW = datetime(2026, 12, 2, 7, 12, tzinfo=UTC)
HOUR_S = 3600.0


def _pieces(*stretches: tuple[str, float]) -> tuple[Piece, ...]:
    """One after another: cell and hours."""
    found, at = [], NOW
    for cell, hours in stretches:
        found.append(Piece(cell, at, at + timedelta(hours=hours)))
        at = found[-1].ended
    return tuple(found)


def _hours(found: object) -> tuple[float, float]:
    assert isinstance(found, Eta)
    return tuple(  # type: ignore[return-value]
        round((at - NOW).total_seconds() / HOUR_S, 2) for at in (found.earliest, found.latest)
    )


def test_the_pace_counts_from_the_first_episode() -> None:
    """Off and restart after one another are one outage; what was before the run is not its own."""
    found = _pieces(("█", 2), ("×", 0), ("·", 1), ("▒", 0.5), ("█", 1), ("·", 0.25))
    assert pace(found, NOW + timedelta(hours=1)) == Pace(2 * HOUR_S, 1.75 * HOUR_S, 2)
    assert pace(found, NOW + timedelta(hours=9)) == Pace(0.0, 0.0, 0)


def test_a_run_that_was_never_interrupted() -> None:
    """100 in 10 h, 100 to go: 10 h, an eighth more or less."""
    assert _hours(eta(100, 100, Pace(10 * HOUR_S, 0.0, 0), NOW)) == (8.87, 11.47)


def test_a_run_that_was_interrupted() -> None:
    """Early it is never interrupted again, late it is away for longer than so far."""
    early, late = _hours(eta(100, 100, Pace(10 * HOUR_S, 5 * HOUR_S, 4), NOW))
    assert (early, late) == (8.87, 20.87)


@pytest.mark.parametrize("finished", [0, LEAST - 1])
def test_too_little_is_no_date(finished: int) -> None:
    """Below ten episodes, and where no work was seen, nothing is said."""
    found = eta(finished, 90, Pace(HOUR_S, 0.0, 0), NOW)
    assert found == Unreadable("not before 10 episodes are finished")
    assert isinstance(eta(LEAST, 90, Pace(HOUR_S, 0.0, 0), NOW), Eta)
    assert eta(50, 90, Pace(0.0, HOUR_S, 1), NOW) == Unreadable("no work was seen")


@given(
    st.integers(LEAST, 10_000),
    st.integers(0, 10_000),
    st.floats(1.0, 1e7),
    st.floats(0.0, 1e6),
    st.integers(1, 500),
)
def test_early_is_before_late(
    finished: int, left: int, work_s: float, away_s: float, outages: int
) -> None:
    """Whatever was seen, the range is one, it lies ahead, and the plain rate lies within it."""
    found = eta(finished, left, Pace(work_s, away_s, outages), NOW)
    assert isinstance(found, Eta)
    plain = NOW + timedelta(seconds=left * (work_s + away_s) / finished)
    assert NOW <= found.earliest <= found.latest
    assert found.earliest - timedelta(seconds=1) <= plain <= found.latest + timedelta(seconds=1)


@pytest.mark.parametrize(
    ("early_h", "late_h", "text"),
    [
        (20.0, 34.8, "Thu 03:00–18:00"),
        (1.0, 1.9, "today 08:10–09:10"),
        (0.1, 0.3, "today 07:18–07:30"),
        (10.0, 30.0, "today 17:00–Thu 13:00"),
        (24.0, 24.1, "Thu 07:00"),
        (200.0, 300.0, "Thu 10 Dec 15:00–Mon 14 Dec 19:00"),
    ],
)
def test_the_range_in_words(early_h: float, late_h: float, text: str) -> None:
    """To the hour far ahead, to the minute close by; the date where a weekday would mislead."""
    found = Eta(NOW + timedelta(hours=early_h), NOW + timedelta(hours=late_h))
    assert between(found, NOW) == text


@pytest.mark.parametrize(
    ("early_h", "late_h", "text"),
    [
        (20.0, 35.0, "14–29 h to spare"),
        (52.0, 60.0, "3–11 h too late"),
        (40.0, 52.0, "3 h too late to 9 h to spare"),
        (48.0, 49.0, "12 min too late to 48 min to spare"),
        (45.8, 48.7, "0–3 h to spare"),
        (48.5, 49.1, "18 min too late to 18 min to spare"),
    ],
)
def test_what_is_to_spare(early_h: float, late_h: float, text: str) -> None:
    """Against a deadline in 48.8 h, also where the range lies on both sides of it."""
    found = Eta(NOW + timedelta(hours=early_h), NOW + timedelta(hours=late_h))
    assert spare(found, NOW + timedelta(hours=48.8)) == text
