"""What the guest's files say about its run: active, intended, finished, interrupted."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from spoteval.episode import Attempt, attempt_from
from spoteval.files import read_lines, read_record, read_text
from spoteval.interruption import Interruption, closed_from, opened_from
from spoteval.paths import DurablePaths, RunPaths
from spoteval.run import RunRecord, name_error, run_from
from spoteval.settlement import closed_keys, settled_attempts
from spoteval.shape import Reading, ShapeError, Table, Unreadable


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, by its own records. `intended` is None before the first start froze it."""

    intended: tuple[str, ...] | None
    finished: tuple[Attempt, ...]
    cut: tuple[Attempt, ...]

    @property
    def finished_keys(self) -> frozenset[str]:
        """Keys of intended episodes that are finished (of all, while nothing is frozen)."""
        keys = frozenset(attempt.key for attempt in self.finished)
        return keys if self.intended is None else keys & frozenset(self.intended)

    @property
    def closed_keys(self) -> frozenset[str]:
        """Keys of episodes that were cut and, by the declared settlement, are not run again."""
        return frozenset(attempt.key for attempt in self.cut if attempt.final)

    @property
    def complete(self) -> bool:
        """Every intended episode is finished, or closed. False while nobody knows what was intended."""
        return self.intended is not None and self.finished_keys | self.closed_keys >= set(
            self.intended
        )


def active_run(disk: DurablePaths) -> Reading[str | None]:
    """Name of the active run; None where there is none, Unreadable for one that would lead out of the runs."""
    found = read_text(disk.active)
    if isinstance(found, Unreadable) or not found:
        return found or None
    why = name_error(found)
    return found if why is None else Unreadable(f"{disk.active}: {why}")


def read_run(paths: RunPaths) -> Reading[RunRecord]:
    """The frozen record. Unreadable also where it is absent: then the published copy is the way back."""
    found = read_record(paths.record)
    if found is None:
        return Unreadable(
            f"{paths.record}: absent (the published copy is in the store below record/)"
        )
    return found if isinstance(found, Unreadable) else run_from(found)


def progress(paths: RunPaths) -> Reading[Progress]:
    """Intended, finished and cut attempts of a run."""
    intended = read_intended(paths)
    if isinstance(intended, Unreadable):
        return intended
    try:
        finished = read_lines(paths.finished).records
        cut = read_lines(paths.settlement).records
    except OSError as error:
        return Unreadable(f"{error.filename}: {error.strerror}")
    return Progress(intended, _attempts(finished), settled_attempts(cut))


def over(paths: RunPaths) -> frozenset[str]:
    """Episodes that are not to begin again: witnessed as finished, or cut for good. Raises OSError."""
    finished = (str(line.get("episode")) for line in read_lines(paths.finished).records)
    return frozenset(finished) | closed_keys(read_lines(paths.settlement).records)


def read_intended(paths: RunPaths) -> Reading[tuple[str, ...] | None]:
    """The intended episodes; None before the first start froze them."""
    found = read_record(paths.intended)
    if found is None or isinstance(found, Unreadable):
        return found
    try:
        return found.texts("episodes")
    except ShapeError as error:
        return Unreadable(str(error))


def interruptions(paths: RunPaths) -> dict[str, Interruption]:
    """Every interruption that was opened, by id."""
    if not paths.interruptions.is_dir():
        return {}
    found = (
        (folder.name, _interruption(folder)) for folder in sorted(paths.interruptions.iterdir())
    )
    return {name: item for name, item in found if item is not None}


def _interruption(folder: Path) -> Interruption | None:
    opened = read_record(folder / "opened.json")
    record = opened_from(opened) if isinstance(opened, Table) else None
    if record is None or isinstance(record, Unreadable):
        return None
    closed = read_record(folder / "closed.json")
    end = closed_from(closed) if isinstance(closed, Table) else None
    if end is None or isinstance(end, Unreadable):
        return Interruption(record, None, closed_unreadable=closed is not None)
    return Interruption(record, end)


def _attempts(records: Iterable[dict[str, object]]) -> tuple[Attempt, ...]:
    found = (attempt_from(record) for record in records)
    return tuple(item for item in found if isinstance(item, Attempt))
