"""What the cut episodes left behind, copied once their processes are dead."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from spoteval.files import copy_file


@dataclass(frozen=True, slots=True)
class Salvaged:
    """How many files were copied, and why others were not."""

    copied: int
    failed: tuple[str, ...]
    out_of_time: bool

    def text(self) -> str:
        """In a few words."""
        rest = (*self.failed, *(("out of time",) if self.out_of_time else ()))
        return "; ".join((f"{self.copied} copied", *rest))


def salvage(
    files: tuple[Path, ...], work: Path, to: Path, since_ns: int, go_on: Callable[[], bool]
) -> Salvaged:
    """Copy the files below `work` that changed since `since_ns` to the same place below `to`, while `go_on`.

    One that cannot be copied costs only itself; one that is there already is not copied again.
    """
    copied, failed = 0, list[str]()
    for source in _fresh(files, since_ns):
        if not go_on():
            return Salvaged(copied, tuple(failed), out_of_time=True)
        target = to / source.relative_to(work)
        try:
            copied += target.exists() or copy_file(source, target, go_on)
        except OSError as error:
            failed.append(f"{source.relative_to(work)}: {error.strerror}")
    return Salvaged(copied, tuple(failed), out_of_time=not go_on())


def _fresh(files: tuple[Path, ...], since_ns: int) -> Iterator[Path]:
    for path in files:
        try:
            if path.stat().st_mtime_ns >= since_ns:
                yield path
        except OSError:
            continue
