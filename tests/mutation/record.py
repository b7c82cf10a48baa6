"""What the last runs found, module by module, beside the reason for each mutant that lived on."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from mutation.scope import fingerprint

FILE = Path(__file__).resolve().parent / "restarter.json"
UNEXPLAINED = ""


@dataclass(frozen=True, slots=True)
class Module:
    """One mutated file: its sha256, how many mutants it has, and how many of them a test noticed."""

    sha256: str
    mutants: int
    killed: int


@dataclass(frozen=True, slots=True)
class Survivor:
    """One mutant that no test noticed: its name, the lines it takes away and puts in, and why it may live."""

    mutant: str
    change: str
    why: str

    @property
    def module(self) -> str:
        """The name of the file that it changes."""
        return module_of(self.mutant)


@dataclass(frozen=True, slots=True)
class Record:
    """All modules. `sources` is the fingerprint of what was mutated."""

    tool: str
    sources: str
    mutants: int
    killed: int
    modules: Mapping[str, Module]
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
        """In every module each mutant is either killed or listed, and the sums are those of the modules."""
        listed = [module_of(name) for name in {item.mutant for item in self.survivors}]
        each = all(
            module.mutants > 0 and module.mutants - module.killed == listed.count(name)
            for name, module in self.modules.items()
        )
        mutants = sum(module.mutants for module in self.modules.values())
        killed = sum(module.killed for module in self.modules.values())
        sums = (mutants, killed) == (self.mutants, self.killed) and mutants > 0
        return each and sums and set(listed) <= set(self.modules) and self._is_whole

    @property
    def hashes(self) -> dict[str, str]:
        """sha256 of each module when its mutants were tested."""
        return {name: module.sha256 for name, module in self.modules.items()}

    @property
    def _is_whole(self) -> bool:
        return self.sources == fingerprint(self.hashes)


def recorded(tool: str, modules: Mapping[str, Module], survivors: tuple[Survivor, ...]) -> Record:
    """A record with its sums."""
    files = {name: module.sha256 for name, module in modules.items()}
    return Record(
        tool=tool,
        sources=fingerprint(files),
        mutants=sum(module.mutants for module in modules.values()),
        killed=sum(module.killed for module in modules.values()),
        modules=dict(sorted(modules.items())),
        survivors=tuple(sorted(survivors, key=lambda item: item.mutant)),
    )


def read(file: Path = FILE) -> Record:
    """The record. Raises OSError, and ValueError, KeyError or TypeError where it is no record."""
    table = json.loads(file.read_text())
    survivors = tuple(Survivor(**item) for item in table["survivors"])
    modules = {name: Module(**item) for name, item in table["modules"].items()}
    return Record(**table | {"modules": modules, "survivors": survivors})


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


def module_of(mutant: str) -> str:
    """`decide` for `spoteval_agents.restarter.decide.x_pause_s__mutmut_3`."""
    return mutant.rpartition(".")[0].rpartition(".")[2]


def _key(mutant: str, change: str) -> tuple[str, str]:
    """Numbers of mutants move with every edit, the function and the change do not."""
    return mutant.partition("__mutmut_")[0], change
