"""What the restarter remembers of one instance between two looks."""

from dataclasses import dataclass, field
from datetime import datetime

from spoteval.clock import Mark
from spoteval.hold import Hold
from spoteval.provider.contract import ErrorKind, Price
from spoteval.run import StopRules

UNKNOWN_BOOT = -1
"""In the place of the newest boot before a life, where nobody knows it."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A start request that may be open. It is on disk before the request goes out.

    `reply` None: no answer was recorded, which is not the same as no request. `recovered`: nobody knows whether
    there was a request at all; a whole window passes as if there had been one. `still`: later looks in a row that
    saw it STOPPED after a refusal.
    """

    at: Mark
    reply: str | None = None
    refused: str | None = None  # the kind of a refusal that says nothing about capacity
    price: Price | None = None
    last_start: datetime | None = None
    boot_seq: int = 0
    recovered: bool = False
    still: int = 0


@dataclass(frozen=True, slots=True)
class Life:
    """From RUNNING to STOPPED. `boot_seq`: the newest boot before it; `boot`: its own, once it put a fact."""

    since: Mark
    price: Price | None = None
    boot_seq: int = 0
    boot: int | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """How the instance came to stand still, by the best evidence there was.

    `booted`, `healthy`: whether its guest said so, None where the store could not be read. `held`: a hold stood at
    that time or since: the hold speaks for the stop, and lifting it is enough.
    """

    cause: str
    evidence: str
    up_was_s: float
    booted: bool | None = None
    healthy: bool | None = None
    held: bool = False
    last_start: datetime | None = None


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
    kind: ErrorKind = "unknown"


@dataclass(frozen=True, slots=True)
class Absent:
    """The provider says that there is no such instance: since when, and in how many looks."""

    since: Mark
    polls: int = 1


@dataclass(frozen=True, slots=True)
class Away:
    """A stretch in which the store cannot be read."""

    since: Mark
    error: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The last start was refused for a reason that says nothing about capacity."""

    at: Mark
    kind: str


@dataclass(frozen=True, slots=True)
class FileHold:
    """The touch file, since the first look that saw it."""

    since: Mark
    reason: str


@dataclass(frozen=True, slots=True)
class KnownHold:
    """A hold, since the first look that saw it or since it was decided; it ends only by a release that was seen.

    `mirrored`: its file was seen in the holds directory, so that its absence means that a person removed it.
    `placed`: it is where others can see it; one of the restarter's own is obeyed before. `local`: that is the
    touch file, on a host without a store.
    """

    hold: Hold
    since: Mark
    mirrored: bool = False
    placed: bool = True
    local: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """The run that the guest put on this instance. `over` says why it needs no instance any more.

    `recorded`: deadline and rules are those of this generation's record, which never changes. `obeys`: before it can
    be read, the earlier record whose rules are in force, as `<run>-<generation>`.
    """

    run: str
    generation: int
    deadline: datetime | None = None
    over: str | None = None
    rules: StopRules = field(default_factory=StopRules)
    recorded: bool = False
    obeys: str | None = None


@dataclass(frozen=True, slots=True)
class Keep:
    """The newest `keep` fact, since the first look that saw it."""

    name: str
    since: Mark


@dataclass(frozen=True, slots=True)
class Drill:
    """A drill that announced its stops: the run that it made, and since when."""

    run: str
    since: Mark


@dataclass(frozen=True, slots=True)
class Ownership:
    """Who serves the instance by the register, and in how many looks in a row that was seen (no more are counted
    than matter)."""

    identity: str
    polls: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """Small numbers. Those that can trip something are reset when the hold that they led to is lifted."""

    short_runs: int = 0  # in a row
    unhealthy: int = 0  # interruptions in a row before `healthy`
    interrupted: int = 0  # interruptions of this run
    faceless: int = 0  # boots in a row that reached RUNNING without any fact
    finished: int = 0  # episodes of this run, as last heard
    undone: int = 0  # stops under this hold that the provider undid
    unrestartable: int = 0  # looks in a row
    rated: int = 0  # refusals in a row because of too many requests
    starts_from: int = 0  # starts before this run, or before they were reset
    boot_seq: int = 0  # the newest boot while it was off
    spent_from: float = 0.0


@dataclass(frozen=True, slots=True)
class State:
    """All that is remembered. `word` is the last state of the provider that was understood.

    `told`: what a person was told and is not over. `waived`: rules that only the configuration can reset, and
    whose hold was lifted.
    """

    word: str | None = None
    since: Mark | None = None
    last_start: datetime | None = None
    life: Life | None = None
    stop: Stop | None = None
    ask: Ask | None = None
    failures: int = 0
    failing_since: Mark | None = None
    failed_at: Mark | None = None
    refusal: Refusal | None = None
    advice: str | None = None  # the provider's last hint about capacity, until a start is reached
    starts: int = 0
    spent: float = 0.0
    price: Price | None = None
    stop_asks: StopAsks | None = None
    unknown: Unknown | None = None
    absent: Absent | None = None
    away: Away | None = None
    unheard: int = 0  # looks in a row at a stopped instance whose holds could not be read
    silent: Mark | None = None
    file_hold: FileHold | None = None
    holds: tuple[KnownHold, ...] = ()
    run: Assignment | None = None
    over_since: Mark | None = None
    keep: Keep | None = None
    owner: Ownership | None = None
    drill: Drill | None = None
    counts: Counts = Counts()
    told: tuple[str, ...] = ()
    waived: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether any hold is known."""
        return self.file_hold is not None or bool(self.holds)
