"""What the restarter remembers of one instance between two looks."""

from dataclasses import dataclass
from datetime import datetime

from spoteval.clock import Mark
from spoteval.hold import Hold
from spoteval.provider.contract import Price


@dataclass(frozen=True, slots=True)
class Ask:
    """A start request that may be open. It is on disk before the request goes out.

    `reply` None: no answer was recorded, which is not the same as no request. `recovered`: nobody remembers
    whether there was a request at all; a whole window passes as if there had been one.
    """

    at: Mark
    reply: str | None = None
    refused: str | None = None  # the kind of a refusal that says nothing about capacity
    price: Price | None = None
    last_start: datetime | None = None
    boot_seq: int = 0
    recovered: bool = False


@dataclass(frozen=True, slots=True)
class Life:
    """From RUNNING to STOPPED."""

    since: Mark
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """How the last life ended, by the best evidence there was."""

    cause: str
    evidence: str
    up_was_s: float


@dataclass(frozen=True, slots=True)
class StopAsks:
    """Stop requests since the instance was last off: how many, and when the last one was intended."""

    at: Mark
    count: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """A stretch in which the provider does not answer, or not in words that we understand."""

    since: Mark
    error: str
    repeats: int = 1
    reported: bool = False


@dataclass(frozen=True, slots=True)
class FileHold:
    """The touch file, since the first look that saw it."""

    since: Mark
    reason: str


@dataclass(frozen=True, slots=True)
class KnownHold:
    """A hold of the store, since the first look that saw it; it ends only by a release that was seen.

    `mirrored`: its file was seen in the holds directory, so that its absence means that a person removed it.
    """

    hold: Hold
    since: Mark
    mirrored: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """The run that the guest put on this instance. `over` says why it needs no instance any more."""

    run: str
    generation: int
    deadline: datetime | None = None
    over: str | None = None


@dataclass(frozen=True, slots=True)
class State:
    """All that is remembered. `word` is the last state of the provider that was understood."""

    word: str | None = None
    since: Mark | None = None
    last_start: datetime | None = None
    life: Life | None = None
    stop: Stop | None = None
    ask: Ask | None = None
    failures: int = 0
    failing_since: Mark | None = None
    failed_at: Mark | None = None
    starts: int = 0
    spent: float = 0.0
    price: Price | None = None
    stop_asks: StopAsks | None = None
    unknown: Unknown | None = None
    unheard: int = 0  # looks in a row at a stopped instance whose holds could not be read
    file_hold: FileHold | None = None
    holds: tuple[KnownHold, ...] = ()
    run: Assignment | None = None

    @property
    def held(self) -> bool:
        """Whether any hold is known."""
        return self.file_hold is not None or bool(self.holds)
