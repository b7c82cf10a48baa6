"""What the disk shows of a run, read only."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from spoteval.episode import Attempt
from spoteval.files import read_lines, read_record
from spoteval.harness.contract import Survey
from spoteval.paths import RunPaths
from spoteval.publication.own import Manner, manner_of, own_names
from spoteval.run import RunRecord
from spoteval.shape import Table
from spoteval_agents.publication_follower.evidence import ident_of
from spoteval_agents.publication_follower.numbers import attempt_id
from spoteval_agents.publication_follower.work import AttemptId, OnDisk, Seen


def look(paths: RunPaths, record: RunRecord, survey: Survey, session: str) -> Seen:
    """Everything of the run that may have to be published. Raises OSError where our own logs cannot be read."""
    unreadable = tuple(f"not readable: {why}" for why in survey.unreadable)
    outside = [path for path in survey.state_files if not path.is_relative_to(paths.root)]
    return Seen(
        run=record.name,
        generation=record.generation,
        own=tuple(_own(paths)),
        state=tuple(_state(paths, survey.state_files)),
        attempts=survey.attempts,
        sizes=_sizes(survey.attempts),
        witness=read_lines(paths.finished).records,
        settlement=read_lines(paths.settlement).records,
        over=frozenset(_over(paths, session)),
        complaints=(*unreadable, *(f"{path}: outside of the run's directory" for path in outside)),
    )


def _own(paths: RunPaths) -> Iterator[OnDisk]:
    for name in own_names(paths.root):
        manner = manner_of(name)
        if manner is not None:
            yield from _on_disk(paths, name, manner)


def _state(paths: RunPaths, files: Iterable[Path]) -> Iterator[OnDisk]:
    for path in sorted(files):
        if path.is_relative_to(paths.root):
            yield from _on_disk(paths, path.relative_to(paths.root).as_posix(), Manner.STATE)


def _on_disk(paths: RunPaths, name: str, manner: Manner) -> Iterator[OnDisk]:
    """Nothing where the file went away since it was listed."""
    try:
        yield OnDisk(name, paths.root / name, ident_of(paths.root / name), manner)
    except FileNotFoundError:
        return


def _sizes(attempts: Iterable[Attempt]) -> dict[AttemptId, int]:
    """Bytes of an attempt's evidence: its files, or their container, which orders as well."""
    known: dict[Path, int] = {}
    for attempt in attempts:
        for part in attempt.parts:
            known.setdefault(part.path, _size(part.path))
    return {
        attempt_id(attempt): sum(known[part.path] for part in attempt.parts) for attempt in attempts
    }


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # whoever takes it to the store finds out, and says so


def _over(paths: RunPaths, session: str) -> Iterator[str]:
    """Interruptions that nobody writes to any more: closed, settled, or of an earlier life of the machine."""
    if not paths.interruptions.is_dir():
        return
    for folder in paths.interruptions.iterdir():
        ended = (folder / "closed.json").exists() or (folder / "settled.json").exists()
        if ended or _is_of_another_life(folder, session):
            yield folder.name


def _is_of_another_life(folder: Path, session: str) -> bool:
    opened = read_record(folder / "opened.json")
    return isinstance(opened, Table) and opened.values.get("session") != session
