"""What the disk shows of a run, read only."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from spoteval.clock import Now
from spoteval.episode import Attempt
from spoteval.files import read_lines, read_record
from spoteval.harness.contract import Survey
from spoteval.paths import RunPaths
from spoteval.publication.own import Manner, manner_of, own_names
from spoteval.run import RunRecord
from spoteval.shape import Table
from spoteval_agents.publication_follower.changing import state_ident
from spoteval_agents.publication_follower.evidence import ident_of
from spoteval_agents.publication_follower.ledger import Ledger
from spoteval_agents.publication_follower.numbers import attempt_id
from spoteval_agents.publication_follower.witness import Witness
from spoteval_agents.publication_follower.work import (
    SETTLED_NS,
    AttemptId,
    OnDisk,
    Seen,
    Sight,
)


def look(
    paths: RunPaths,
    record: RunRecord,
    survey: Survey,
    session: str,
    witness: Witness | None = None,
) -> Seen:
    """Everything of the run that may have to be published. Raises OSError where our own logs cannot be read."""
    witness = witness or Witness(paths.finished, Ledger())
    witness.read()
    unreadable = tuple(f"not readable: {why}" for why in survey.unreadable)
    outside = [path for path in survey.state_files if not path.is_relative_to(paths.root)]
    return Seen(
        run=record.name,
        generation=record.generation,
        own=tuple(_own(paths)),
        state=tuple(_state(paths, survey.state_files)),
        attempts=survey.attempts,
        sizes=_sizes(survey.attempts),
        witness=tuple(witness.lines(attempt.key for attempt in survey.attempts)),
        settlement=read_lines(paths.settlement).records,
        over=frozenset(_over(paths, session)),
        complaints=(*unreadable, *(f"{path}: outside of the run's directory" for path in outside)),
        beyond=survey.beyond,
    )


def glance(paths: RunPaths, record: RunRecord, survey: Survey, epoch: int) -> Sight:
    """All that `look` reads, as stat shows it. An adapter gives the same survey while its files are the same."""
    files = [*_own(paths), *_state(paths, survey.state_files)]
    return record.generation, epoch, survey, tuple((file.name, file.ident) for file in files)


def is_settled(sight: Sight, now: Now) -> bool:
    """Whether no file of the glance is so young that it may have been written to unseen."""
    files = sight[-1]
    until_ns = int(now.wall.timestamp() * 1e9) - SETTLED_NS
    assert isinstance(files, tuple)
    return all(ident.mtime_ns < until_ns for _, ident in files)


def _own(paths: RunPaths) -> Iterator[OnDisk]:
    for name in own_names(paths.root):
        manner = manner_of(name)
        if manner is not None:
            yield from _on_disk(paths, name, manner)


def _state(paths: RunPaths, files: Iterable[Path]) -> Iterator[OnDisk]:
    for path in sorted(files):
        if path.is_relative_to(paths.root):
            name = path.relative_to(paths.root).as_posix()
            with suppress(FileNotFoundError):
                yield OnDisk(name, path, state_ident(path), Manner.STATE)


def _on_disk(paths: RunPaths, name: str, manner: Manner) -> Iterator[OnDisk]:
    """Nothing where the file went away since it was listed."""
    path = paths.root / name
    try:
        yield OnDisk(name, path, ident_of(path), manner)
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
