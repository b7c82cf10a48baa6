"""What the last whole run found, beside the reason for each mutant that lived on."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = Path(__file__).resolve().parent / "restarter.json"
UNEXPLAINED = ""


@dataclass(frozen=True, slots=True)
class Survivor:
    """One mutant that no test noticed: its name, the lines it takes away and puts in, and why it may live."""

    mutant: str
    change: str
    why: str


@dataclass(frozen=True, slots=True)
class Record:
    """One whole run. `sources` is the fingerprint of what was mutated."""

    tool: str
    sources: str
    modules: tuple[str, ...]
    mutants: int
    killed: int
    survivors: tuple[Survivor, ...]

    @property
    def score(self) -> float:
        """Share of killed mutants, 0 to 1."""
        return self.killed / self.mutants if self.mutants else 0.0

    @property
    def unexplained(self) -> tuple[Survivor, ...]:
        """Survivors without a reason."""
        return tuple(item for item in self.survivors if not item.why.strip())

    @property
    def adds_up(self) -> bool:
        """Every mutant is either killed or listed."""
        names = {item.mutant for item in self.survivors}
        return self.mutants > 0 and self.killed + len(names) == self.mutants


def read(file: Path = FILE) -> Record:
    """The record. Raises OSError, and ValueError, KeyError or TypeError where it is no record."""
    table = json.loads(file.read_text())
    survivors = tuple(Survivor(**item) for item in table["survivors"])
    return Record(**table | {"modules": tuple(table["modules"]), "survivors": survivors})


def write(record: Record, file: Path = FILE) -> None:
    """For people too: one line for each survivor would be too long, so one for each field."""
    file.write_text(json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n")


def survivors(changes: Mapping[str, str], before: Record | None) -> tuple[Survivor, ...]:
    """All of these, with the reasons that were written down for the same change of the same function."""
    known = (
        {_key(item.mutant, item.change): item.why for item in before.survivors} if before else {}
    )
    return tuple(
        Survivor(name, change, known.get(_key(name, change), UNEXPLAINED))
        for name, change in sorted(changes.items())
    )


def _key(mutant: str, change: str) -> tuple[str, str]:
    """Numbers of mutants move with every edit, the function and the change do not."""
    return mutant.partition("__mutmut_")[0], change
