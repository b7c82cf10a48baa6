"""One object at a time: what was meant is on disk before the put, what the store answered after it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spoteval.episode import Part
from spoteval.paths import RunPaths
from spoteval.store.contract import Put, Store
from spoteval_agents.publication_follower.evidence import (
    Bytes,
    Changed,
    Evidence,
    Unfinished,
    blob_of,
)
from spoteval_agents.publication_follower.journal import Journal, held
from spoteval_agents.publication_follower.screen import Screen
from spoteval_agents.publication_follower.uploading import put_evidence
from spoteval_agents.publication_follower.work import Blob, Ident


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Target:
    """Where the objects of one run go, and from which host and epoch."""

    store: Store
    journal: Journal
    run: str
    host: str
    epoch: int
    paths: RunPaths
    read_part: Callable[[Part], bytes]
    screen: Screen = field(default_factory=Screen)
    go_on: Callable[[], bool] = _always
    parts_above: int = 64_000_000
    """Bytes; a larger file is sent in parts."""

    @property
    def scratch(self) -> Path:
        """For copies, on the durable disk, beside the journal."""
        return self.journal.folder / "scratch"

    def put(self, key: str, evidence: Evidence | Bytes) -> Put:
        """Send it, a large file in parts. Raises StoreError, Changed, Withheld."""
        return put_evidence(self.store, self.journal, key, evidence, self.parts_above, self.go_on)


@dataclass(slots=True)
class Done:
    """What came into the store that was not there: episodes by their manifest, and all other objects.

    `read` is the file as it was when all of it was in the store.
    """

    episodes: int = 0
    files: int = 0
    bytes: int = 0
    read: Ident | None = None
    withheld: list[str] = field(default_factory=list)
    """Parts of the episode that were not sent, and why."""

    def count(self, answer: Put, blob: Blob) -> None:
        """Count an object, where it is new."""
        if answer.is_ours:
            self.files += 1
            self.bytes += blob.size


def send(
    target: Target, key: str, evidence: Evidence | Bytes, earlier: Sequence[Blob], done: Done
) -> Blob | None:
    """Put what was already written down as meant; returns what the store holds then, None where nobody knows.

    `earlier` is what had been meant for the key before this time.
    """
    try:
        answer = target.put(key, evidence)
    except Unfinished:
        raise
    except Changed:
        target.journal.taken(key)
        raise
    found = held(answer, evidence.blob, earlier)
    if found is None:
        target.journal.taken(key)
    else:
        target.journal.done(key, found)
    done.count(answer, evidence.blob)
    return found


def claim(target: Target, key: str, evidence: Evidence | Bytes, done: Done) -> bool:
    """Put under the next number of a row: it is ours only where the store says that it was free.

    An object that exists may be from a forgotten life of the journal, whatever was meant in this one.
    """
    try:
        answer = target.put(key, evidence)
    except Unfinished:
        raise
    except Changed:
        target.journal.taken(key)
        raise
    done.count(answer, evidence.blob)
    if answer.is_ours:
        target.journal.done(key, evidence.blob, durable=True)
    else:
        target.journal.taken(key)
    return answer.is_ours


def send_known(target: Target, key: str, data: bytes) -> Put:
    """Put bytes that are the same whenever they are made: what exists under the key is them."""
    answer = target.store.put(key, data)
    target.journal.done(key, blob_of(data))
    return answer
