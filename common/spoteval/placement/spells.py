"""Lifetimes from a CSV file: `duration_s`, or `lower_s` and `upper_s` where only an interval is known; `ended`."""

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from spoteval.placement.lifetime import HOUR_S, Life

ENDED = ("preempted", "censored")
COLUMNS = "duration_s,ended or lower_s,upper_s,ended"


class SpellError(ValueError):
    """A file that is no list of lifetimes. The text names file, line, value and what is allowed."""


def read_spells(path: Path) -> tuple[Life, ...]:
    """The lives, in the order of the file. Raises SpellError, and OSError where it cannot be read."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            found = tuple(_lives(csv.DictReader(file), path))
    except (UnicodeDecodeError, csv.Error) as error:
        raise SpellError(f"{path}: no CSV text ({error})") from error
    if not found:
        raise SpellError(f"{path}: no lines (columns: {COLUMNS})")
    return found


def _lives(reader: "csv.DictReader[str]", path: Path) -> Iterator[Life]:
    columns = set(reader.fieldnames or ())
    exact = "duration_s" in columns
    if "ended" not in columns or not (exact or {"lower_s", "upper_s"} <= columns):
        shown = ",".join(reader.fieldnames or ())
        raise SpellError(f'{path}: columns "{shown}" must be {COLUMNS}')
    for row in reader:
        place = f"{path}, line {reader.line_num}"
        yield _exact(row, place) if exact else _within(row, place)


def _exact(row: Mapping[str, str | None], place: str) -> Life:
    hours = _number(row, "duration_s", place) / HOUR_S
    return Life(hours, hours, _preempted(row, place))


def _within(row: Mapping[str, str | None], place: str) -> Life:
    """Of a censored life only the lower bound is known."""
    low = _number(row, "lower_s", place)
    if not _preempted(row, place):
        return Life(low / HOUR_S, low / HOUR_S, preempted=False)
    high = _number(row, "upper_s", place)
    if high < low:
        raise SpellError(f'{place}: upper_s "{row["upper_s"]}" must be at least lower_s')
    return Life(low / HOUR_S, high / HOUR_S, preempted=True)


def _preempted(row: Mapping[str, str | None], place: str) -> bool:
    ended = (row.get("ended") or "").strip()
    if ended not in ENDED:
        raise SpellError(f'{place}: ended "{ended}" must be {" | ".join(ENDED)}')
    return ended == "preempted"


def _number(row: Mapping[str, str | None], column: str, place: str) -> float:
    text = (row.get(column) or "").strip()
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise SpellError(f'{place}: {column} "{text}" must be seconds from 0')
    return value
