"""The table of drills: notice window × moment × what it takes to stop the run."""

from dataclasses import dataclass
from typing import Literal

Moment = Literal["run", "resume", "final"]
Path = Literal["INT", "TERM", "KILL"]
WINDOWS = (120, 60, 30, 8, 5)
MOMENTS: tuple[Moment, ...] = ("run", "resume", "final")
PATHS: tuple[Path, ...] = ("INT", "TERM", "KILL")


@dataclass(frozen=True, slots=True)
class Cell:
    """One drill. The machine is taken in the middle of the run, of its resume, or of the final pass.

    `path`: the run ends at SIGINT, ignores that and ends at SIGTERM, or ignores both and is killed.
    """

    window_s: int
    moment: Moment
    path: Path

    @property
    def told_by(self) -> str:
        """By the shutdown alone where the run ends at SIGTERM, else by the provider's notice."""
        return "shutdown" if self.path == "TERM" else "notice"

    @property
    def errors(self) -> str:
        """Both policies are drilled."""
        return "retry-1" if self.window_s in (120, 8) else "keep"

    def __str__(self) -> str:
        """As a person types it."""
        return f"{self.window_s}:{self.moment}:{self.path}"


FIXED = (
    *(Cell(120, "run", "TERM"), Cell(60, "run", "INT"), Cell(8, "run", "KILL")),
    *(Cell(60, "resume", "TERM"), Cell(30, "resume", "INT"), Cell(5, "resume", "KILL")),
    *(Cell(30, "final", "KILL"), Cell(8, "final", "INT"), Cell(5, "final", "TERM")),
)
EVERY = tuple(Cell(w, m, p) for w in WINDOWS for m in MOMENTS for p in PATHS)


def cell_of(text: str) -> Cell:
    """The cell that a person typed; raises ValueError for one that is not in the table."""
    found = next((cell for cell in EVERY if str(cell) == text), None)
    if found is None:
        windows, moments = "|".join(map(str, WINDOWS)), "|".join(MOMENTS)
        raise ValueError(f'"{text}": a cell is {windows}:{moments}:{"|".join(PATHS)}')
    return found
