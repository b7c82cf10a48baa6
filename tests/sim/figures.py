"""What a simulation has done: sums over histories, and the table of rows and faults."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from spoteval.local.market import UP, History

COLUMNS = (
    "timeout",
    "slow",
    "lie",
    "lost-request",
    "lost-answer",
    "late-list",
    "store-away",
    "put-lost",
    "clock-jump",
    "unsynced",
    "crash-before",
    "crash-after",
    "power-cut",
    "two",
)
"""The faults of the table. `two`: another restarter serves the same instance."""


@dataclass
class Figures:
    """What happened, summed over histories. `lives_s`: how long each life that reached RUNNING lasted."""

    histories: int = 0
    cycles: int = 0
    days: float = 0.0
    preemptions: int = 0
    crashes: int = 0
    starts: int = 0
    doubled: int = 0
    missed: int = 0
    stops: int = 0
    answers_lost: int = 0
    capacity_failures: int = 0
    holds: int = 0
    releases: int = 0
    runs: int = 0
    lives_s: list[float] = field(default_factory=list)
    cells: Counter[tuple[int, str]] = field(default_factory=Counter)
    rows: Counter[int] = field(default_factory=Counter)

    def add(self, other: "Figures") -> None:
        """Sum up."""
        for name in Figures.__dataclass_fields__:
            mine = getattr(self, name)
            theirs = getattr(other, name)
            setattr(self, name, mine + theirs)

    def failed(self, number: str) -> None:
        """A history broke this rule: two starts were open, or one did not come."""
        self.doubled += number == "I2"
        self.missed += number == "I11"

    @property
    def life_median_s(self) -> float:
        """Half of the lives were shorter."""
        return median(self.lives_s) if self.lives_s else 0.0

    def line(self) -> str:
        """One line for people."""
        sums = [f"{name.replace('_', ' ')} {getattr(self, name):,.0f}" for name in _SUMS]
        sums.append(f"median life {self.life_median_s / 60:.0f} min")
        return " · ".join(sums).replace("· days", "· node-days")

    def record(self) -> dict[str, object]:
        """The figures as a JSON object."""
        sums = {name: getattr(self, name) for name in _SUMS}
        cells = {f"{row} {name}": hits for (row, name), hits in sorted(self.cells.items())}
        return sums | {"life_median_s": self.life_median_s, "cells": cells}

    def table(self, rows: Iterable[int]) -> str:
        """How often each row decided while each fault was in force."""
        head = "row     hits " + "".join(f"{name:>14}" for name in COLUMNS)
        lines = [head]
        for row in rows:
            cells = "".join(f"{self.cells[row, name]:>14,}" for name in COLUMNS)
            lines.append(f"{row:>3}{self.rows[row]:>10,}" + cells)
        return "\n".join(lines)

    def thin_cells(self, rows: Iterable[int], at_least: int) -> list[str]:
        """The cells that were hit less often."""
        return [
            f"row {row} × {name}: {self.cells[row, name]}"
            for row in rows
            for name in COLUMNS
            if self.cells[row, name] < at_least
        ]


_SUMS = tuple(
    name for name in Figures.__dataclass_fields__ if name not in ("lives_s", "cells", "rows")
)


def lives_s(history: History) -> list[float]:
    """How long each life that has ended lasted, from RUNNING to its end."""
    lives: list[float] = []
    up_s = 0.0
    for phase in history[:-1]:
        up = phase.name in (*UP, "noticed")
        if not up and up_s > 0:
            lives.append(up_s)
        up_s = up_s + phase.length_s if up else 0.0
    return lives
