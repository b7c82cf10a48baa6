"""How figures read: durations, ages, moments, sums of money."""

from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3600, 86400

_CLASSES = {
    "budget_shortened": "budget-shortened",
    "preemption_interrupted": "preemption-interrupted",
    "operator_stopped": "operator-stopped",
}


def class_name(name: str) -> str:
    """A class of episodes or an outcome, as people read it."""
    return _CLASSES.get(name, name.replace("_", " "))


def duration(seconds: float) -> str:
    """Two units at most: "38 s", "3 min 12 s", "24 min", "1 h 25 min", "2 d 3 h"."""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "min", 1, "s")
    if whole < _HOUR:
        return f"{whole // _MINUTE} min"
    if whole < _DAY:
        return _two(whole, _HOUR, "h", _MINUTE, "min")
    return _two(whole, _DAY, "d", _HOUR, "h")


def seconds(value: float) -> str:
    """A short time with one decimal: "1.2 s"."""
    return f"{value:.1f} s"


def moment(at: datetime) -> str:
    """A moment for the head of a page: "Wed 02 Dec 07:12 UTC"."""
    return f"{at.astimezone(UTC):%a %d %b %H:%M} UTC"


def money(low: float, high: float) -> str:
    """A range of sums: "0.31–0.36", "219–226"; below a tenth of a unit with three decimals."""
    digits = 0 if high >= 100 else 3 if 0 < high < 0.1 else 2
    return between(f"{low:.{digits}f}", f"{high:.{digits}f}")


def between(low: str, high: str) -> str:
    """Two figures as a range, one where they read the same."""
    return low if low == high else f"{low}–{high}"


def _two(whole: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = whole % large // small
    first = f"{whole // large} {large_name}"
    return f"{first} {rest} {small_name}" if rest else first
