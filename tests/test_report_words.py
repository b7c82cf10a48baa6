"""How figures read."""

from datetime import UTC, datetime

import pytest

from spoteval.report.words import between, class_name, duration, moment, money


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (38.4, "38 s"),
        (59.6, "1 min"),
        (60, "1 min"),
        (192.4, "3 min 12 s"),
        (599, "9 min 59 s"),
        (600, "10 min"),
        (1469, "24 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (5100, "1 h 25 min"),
        (86399, "23 h 59 min"),
        (86400, "1 d"),
        (183600, "2 d 3 h"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    """Two units at most, the smaller one only while it matters."""
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.0129, 0.015, "0.013–0.015"),
        (0.31, 0.36, "0.31–0.36"),
        (1.031, 1.069, "1.03–1.07"),
        (219.24, 225.9, "219–226"),
        (0.311, 0.312, "0.31"),
        (0, 0, "0.00"),
    ],
)
def test_sums_of_money(low: float, high: float, text: str) -> None:
    """A range, rounded so that it stays a range while it is one."""
    assert money(low, high) == text


def test_the_rest() -> None:
    """Moments, equal figures, classes."""
    assert moment(datetime(2026, 12, 2, 7, 12, tzinfo=UTC)) == "Wed 02 Dec 07:12 UTC"
    assert between("3.10", "3.10") == "3.10"
    assert class_name("preemption_interrupted") == "preemption-interrupted"
    assert class_name("model_failure") == "model failure"
