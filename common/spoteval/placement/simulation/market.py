"""When a pool had a node to give: spells of one or more zones, recorded or drawn."""

import bisect
import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from spoteval.placement.lifetime import HOUR_S
from spoteval.placement.spells import SpellError

Spell = tuple[float, float]
"""From and to, in hours: the pool had a node, and one that was taken at the beginning lived to the end."""
COLUMNS = "start_s,duration_s,available"


@dataclass(frozen=True, slots=True)
class Zone:
    """The up spells of one pool, in order, and the hours that are known."""

    spells: tuple[Spell, ...]
    begin_h: float
    end_h: float

    def window(self, begin_h: float, hours: float) -> "Zone":
        """A stretch of it, whose clock begins at 0."""
        cut = (
            (max(0.0, low - begin_h), min(hours, high - begin_h))
            for low, high in self._over(begin_h, begin_h + hours)
        )
        return Zone(tuple(cut), 0.0, hours)

    def at(self, hour: float) -> Spell | None:
        """The spell that holds this moment."""
        place = bisect.bisect_right(self.spells, (hour, math.inf)) - 1
        if place >= 0 and hour < self.spells[place][1]:
            return self.spells[place]
        return None

    def next_h(self, hour: float) -> float:
        """When the next spell begins; infinite where none does."""
        place = bisect.bisect_right(self.spells, (hour, math.inf))
        return self.spells[place][0] if place < len(self.spells) else math.inf

    def _over(self, low: float, high: float) -> Iterator[Spell]:
        place = max(0, bisect.bisect_right(self.spells, (low, math.inf)) - 1)
        for spell in self.spells[place:]:
            if spell[0] >= high:
                return
            if spell[1] > low:
                yield spell


Market = Sequence[Zone]


def offered(market: Market, hour: float) -> Spell | None:
    """The spell of the zone that has been up longest: old nodes and old capacity last longer than new ones."""
    found = [spell for zone in market if (spell := zone.at(hour)) is not None]
    return min(found) if found else None


def next_h(market: Market, hour: float) -> float:
    """When the next spell of any zone begins."""
    return min(zone.next_h(hour) for zone in market)


@dataclass(frozen=True, slots=True)
class Weather:
    """A law of spells: lives Weibull, waits lognormal."""

    shape: float
    mean_up_h: float
    median_wait_h: float = 0.45
    p90_wait_h: float = 3.5

    def zone(self, random: Random, hours: float) -> Zone:
        """A trace of about so many hours that begins long before 0, so that 0 is a moment like any other."""
        scale = self.mean_up_h / math.gamma(1 + 1 / self.shape)
        sigma = math.log(self.p90_wait_h / self.median_wait_h) / 1.2815515655446004
        at, spells = -20 * (self.mean_up_h + self.median_wait_h), []
        while at < hours:
            up = random.weibullvariate(scale, self.shape)
            spells.append((at, at + up))
            at += up + random.lognormvariate(math.log(self.median_wait_h), sigma)
        return Zone(tuple(spells), 0.0, hours)


def read_zone(path: Path) -> Zone:
    """A recorded trace: start_s, duration_s, available (1: there was a node). Raises SpellError, OSError."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            if not set(COLUMNS.split(",")) <= set(reader.fieldnames or ()):
                shown = ",".join(reader.fieldnames or ())
                raise SpellError(f'{path}: columns "{shown}" must be {COLUMNS}')
            rows = sorted(_row(row, f"{path}, line {reader.line_num}") for row in reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise SpellError(f"{path}: no CSV text ({error})") from error
    if not rows:
        raise SpellError(f"{path}: no lines (columns: {COLUMNS})")
    ups = tuple((low, high) for low, high, up in rows if up and high > low)
    return Zone(_joined(ups), rows[0][0], max(high for _, high, _ in rows))


def _joined(ups: Sequence[Spell]) -> tuple[Spell, ...]:
    """Lines that overlap are one spell; two that only touch are two lives."""
    found: list[Spell] = []
    for low, high in ups:
        if found and low < found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def _row(row: Mapping[str, str | None], place: str) -> tuple[float, float, bool]:
    try:
        low, length = float(row["start_s"] or ""), float(row["duration_s"] or "")
    except (TypeError, ValueError):
        low = length = math.nan
    if not (math.isfinite(low) and 0 <= length < math.inf):
        raise SpellError(f"{place}: start_s and duration_s must be seconds, duration_s from 0")
    word = (row["available"] or "").strip().lower()
    if word not in ("0", "1", "true", "false"):
        raise SpellError(f'{place}: available "{word}" must be 0 | 1')
    return low / HOUR_S, (low + length) / HOUR_S, word in ("1", "true")
