"""Time as a value."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoteval.clock import (
    Mark,
    Now,
    carried,
    elapsed_s,
    left_s,
    mark_from,
    parse_stamp,
    read_now,
    stamp,
)

AT = datetime(2026, 12, 1, 2, 58, 11, 4000, tzinfo=UTC)


def now(seconds: float = 0.0, boot: str = "b1", synced: bool = True) -> Now:
    return Now(AT + timedelta(seconds=seconds), 100.0 + seconds, boot, synced)


def test_one_boot_is_measured_by_the_monotonic_clock() -> None:
    """A wall clock that jumps two hours changes nothing within one boot."""
    jumped = Now(AT + timedelta(hours=2), 107.5, "b1", synced=False)
    assert elapsed_s(now().mark, jumped) == 7.5


def test_two_boots_are_measured_by_the_wall_clock() -> None:
    """Another boot's monotonic clock says nothing, so the wall difference counts."""
    assert elapsed_s(Mark(AT, 9999.0, "b0"), now(30)) == 30.0


def test_two_boots_without_a_synchronised_clock_are_unknown() -> None:
    """Nobody can know, so the answer is None and not zero."""
    assert elapsed_s(Mark(AT, 0.0, "b0"), now(30, synced=False)) is None


def test_elapsed_is_never_negative() -> None:
    """A mark from the future is no time ago."""
    assert elapsed_s(Mark(AT + timedelta(hours=1), 0.0, "b0"), now()) == 0.0
    assert elapsed_s(Mark(AT, 500.0, "b1"), now()) == 0.0


@pytest.mark.parametrize(("seconds", "left"), [(9.999, 0.001), (10.0, 0.0), (10.001, -0.001)])
def test_left_at_a_deadline(seconds: float, left: float) -> None:
    """Before, at, and one past the deadline."""
    assert left_s(AT + timedelta(seconds=10), now(seconds)) == pytest.approx(left)


def test_left_is_unknown_without_a_synchronised_clock() -> None:
    """A deadline on a wall clock that may be wrong is not passed and not ahead."""
    assert left_s(AT, now(synced=False)) is None


def test_a_stamp_has_milliseconds_and_z() -> None:
    """The text that every file and line uses."""
    assert stamp(AT) == "2026-12-01T02:58:11.004Z"


def test_a_stamp_without_a_zone_is_refused() -> None:
    """A time without its zone is a guess."""
    with pytest.raises(ValueError, match="names no time zone"):
        parse_stamp("2026-12-01T02:58:11")


@given(st.datetimes(timezones=st.just(UTC)), st.floats(0, 1e9), st.text(min_size=1))
def test_marks_come_back_from_their_record(wall: datetime, mono_s: float, boot: str) -> None:
    """A mark survives its record, to the millisecond."""
    back = mark_from(Mark(wall, mono_s, boot).record())
    assert abs((back.wall - wall).total_seconds()) <= 0.001
    assert back.mono_s == pytest.approx(mono_s, abs=0.001)
    assert back.boot == boot


@pytest.mark.parametrize("record", [{}, {"wall": 1, "mono_s": 1.0, "boot": "b"}, {"wall": "x"}])
def test_no_mark_in_foreign_records(record: dict[str, object]) -> None:
    """What is no mark raises, so that the reader can say so."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        mark_from(record)


def test_reading_the_clock_gives_utc_and_a_boot() -> None:
    """The one reading of the clocks names zone and boot, and goes forward."""
    first, second = read_now(), read_now()
    assert first.wall.tzinfo is UTC
    assert first.boot == second.boot
    assert len(first.boot) == 36
    assert second.mono_s >= first.mono_s


def test_carried_keeps_the_age_that_a_mark_had() -> None:
    """30 s old when it was saved, 100 s from there by the wall: 130 s, on the new boot's own clock."""
    saved = Now(AT, 1030.0, "b0")
    later = Now(AT + timedelta(seconds=100), 5.0, "b1")
    moved = carried(Mark(AT - timedelta(hours=9), 1000.0, "b0"), saved, later)
    assert elapsed_s(moved, later) == 130.0
    assert moved.boot == "b1"
    assert carried(later.mark, saved, later) == later.mark


@pytest.mark.parametrize(
    ("before", "after", "boot"),
    [(False, True, "b0"), (True, False, "b0"), (False, False, "b0"), (True, True, "b9")],
)
def test_carried_begins_anew_where_nobody_can_know(*, before: bool, after: bool, boot: str) -> None:
    """A clock that was wrong at either end, or a mark of yet another boot, tells no age."""
    saved = Now(AT, 1030.0, "b0", synced=before)
    later = Now(AT + timedelta(seconds=100), 5.0, "b1", synced=after)
    assert carried(Mark(AT, 1000.0, boot), saved, later) == later.mark
