"""The values of a pass: what the disk shows, what is known to be published, and the work that follows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from spoteval.episode import Attempt
from spoteval.publication.manifest import PartEntry
from spoteval.publication.own import Manner

AttemptId = tuple[str, str]
"""Episode and native id: one begin of one episode."""


Sight = tuple[object, ...]
"""What a pass looked at; two equal ones mean that nothing was written in between, where no file in it is young."""

SETTLED_NS = 2_000_000_000
"""A file written less than this before it was read is read again: two writes may bear the same time."""


def _none(name: AttemptId) -> bool:  # noqa: ARG001
    return False


class Kind(StrEnum):
    """Why a pass is made."""

    REGULAR = "regular"
    SOON = "pass"
    FINAL = "final"
    LAST = "last"
    """The follower itself is being stopped: records and logs alone, without asking the harness's files."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes by digest and size."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Begun:
    """An attempt whose parts are about to be put: its number, and what is meant under which key."""

    number: int
    parts: list[tuple[str, Blob]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ident:
    """A file as stat shows it: two equal ones mean that nothing was written in between.

    Who writes may set the time of its bytes back, but not that of its inode (`ctime_ns`).
    """

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int = 0


@dataclass(frozen=True, slots=True)
class Held:
    """Why something is withheld, and the file as it was then; None for parts of an episode."""

    why: str
    ident: Ident | None = None


def withheld_name(work: str) -> str:
    """How what an episode lacks is called in a line."""
    return f"{work}: withheld part"


@dataclass(frozen=True, slots=True)
class OnDisk:
    """One file: its path within the run's directory, and where it lies."""

    name: str
    path: Path
    ident: Ident
    manner: Manner


@dataclass(frozen=True, slots=True)
class Seen:
    """What the disk shows of one run. `over`: interruptions whose folder nobody writes to any more."""

    run: str
    generation: int
    own: tuple[OnDisk, ...] = ()
    state: tuple[OnDisk, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    sizes: Mapping[AttemptId, int] = field(default_factory=dict)
    witness: tuple[Mapping[str, object], ...] = ()
    settlement: tuple[Mapping[str, object], ...] = ()
    over: frozenset[str] = frozenset()
    complaints: tuple[str, ...] = ()
    beyond: int = 0
    """Episodes that seem to have ended and are not among the attempts: the next slices take them."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known to be published. `read`: files as they were when all of them was; `failed`: work of last time."""

    put: Mapping[str, Blob] = field(default_factory=dict)
    numbers: Mapping[AttemptId, int] = field(default_factory=dict)
    read: Mapping[str, Ident] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()
    held: Mapping[str, "Held"] = field(default_factory=dict)
    """What holds a secret, as far as this process has seen."""
    recent: frozenset[str] = frozenset()
    """State files of the harness that were published just now."""
    is_published: Callable[[AttemptId], bool] = _none
    """Whether the manifest of an attempt is in the store."""


@dataclass(frozen=True, slots=True)
class Work:
    """One thing to publish; `size` orders it, `name` is how it is called in a line."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class PutOnce(Work):
    """A file that is never rewritten; `is_bulk`: large, and not needed now."""

    key: str
    path: Path
    is_bulk: bool = False


@dataclass(frozen=True, slots=True)
class PutEpisode(Work):
    """A finished attempt with its number; `line` where the witness has it and only the manifest is missing."""

    attempt: Attempt
    line: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class PutWithheld(Work):
    """Parts of a published attempt that were withheld: each new process tries again, it may know other secrets."""

    attempt: Attempt
    entries: tuple[PartEntry, ...]


@dataclass(frozen=True, slots=True)
class PutLog(Work):
    """An appended file. `is_new`: this process has not published any of it yet."""

    path: Path
    is_new: bool = True


@dataclass(frozen=True, slots=True)
class PutState(Work):
    """A file that changes in place; `of_harness`: large, and written again and again while the run goes on."""

    path: Path
    of_harness: bool = False
    is_early: bool = False
    """Whether its last generation is so young that this one waits."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is not published yet, in order, and what a person should know of."""

    works: tuple[Work, ...]
    complaints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a pass did. `left`: finished episodes not published; `backlog`: all that is not; `cut`: no time or room."""

    episodes: int = 0
    files: int = 0
    bytes: int = 0
    requests: int = 0
    left: int = 0
    backlog: int = 0
    errors: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()
    withheld: Mapping[str, "Held"] = field(default_factory=dict)
    """What is not published since it holds a secret."""
    away: bool = False
    cut: bool = False
    took_s: float = 0.0
    audit_ms: int | None = None
    """Processor time of the audit's slice before this pass."""
