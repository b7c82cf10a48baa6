"""What one cycle sees, what the agent remembers between two, and what it may do: values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from spoteval.clock import Mark
from spoteval.control.enders import Ender
from spoteval.control.environment import Standing
from spoteval.decision import Decision
from spoteval.run import RunRecord
from spoteval.shape import Reading
from spoteval_agents.boot_resume.stages import Stages


@dataclass(frozen=True, slots=True)
class Server:
    """One model server of the host file: seconds it may take, and whether its unit has processes now."""

    name: str
    unit: str
    limit_s: float
    alive: Reading[bool] = False
    born_s: float | None = None
    """On the clock of this boot, when the oldest of these processes began; None where nobody can tell."""
    kind: str = "openai"
    restarts: int = 3
    """Failed starts in one boot, then a person is called."""
    cache: str | None = None
    """Set aside once, before the last of these starts."""
    weights: bool = False
    """Whether its weights are to be held against their sums."""
    probe_s: float = 45.0
    """Longest look."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the host file says, and how long this agent waits for what."""

    guest_hold: str
    servers: tuple[Server, ...] = ()
    restarts: int = 3
    restart_pauses_s: tuple[float, ...] = (5.0, 30.0, 120.0)
    start_within_s: float = 30.0
    retry_s: float = 10.0


@dataclass(frozen=True, slots=True)
class RunSeen:
    """The active run as its files and its unit's processes show it."""

    record: RunRecord
    stages: Stages = field(default_factory=Stages)
    members: Reading[int] = 0
    claimed: bool = False
    complete: Reading[bool] = False
    """By the witness: every intended episode is finished, or the run has its end record."""
    begun: bool = False
    finishing: bool = False
    """A person has declared it over."""
    standing: Standing = field(default_factory=Standing)
    """Its environment, over all lives."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The world of one cycle. `disk` says what keeps the durable disk from being used, None where nothing does."""

    session: str
    disk: str | None = None
    numbered: bool = True
    guest: Stages = field(default_factory=Stages)
    """What this life's events outside any run say."""
    run: Reading[RunSeen | None] = None
    intents: Reading[tuple[Ender, ...]] = ()
    draining: bool = False
    hold: Reading[str | None] = None
    servers: tuple[Server, ...] = ()
    work: str | None = None
    """The slow thing that is under way."""
    took_s: Mapping[str, float] = field(default_factory=dict)
    """Of slow things that have ended just now, how long they took."""
    served_since: datetime | None = None
    """Since when the oldest process of a server unit lives; None where none does."""

    @property
    def active(self) -> RunSeen | None:
        """The active run, where it can be read."""
        return self.run if isinstance(self.run, RunSeen) else None

    @property
    def booted(self) -> bool:
        """Whether the boot of this life is on record."""
        return self.guest.booted or (self.active is not None and self.active.stages.booted)

    @property
    def told(self) -> frozenset[str]:
        """The gist of what a person was told in this life."""
        active = self.active
        return self.guest.told | (active.stages.told if active is not None else frozenset())


@dataclass(frozen=True, slots=True)
class Probe:
    """The looks at one server so far: ready ones in a row, when the last one was, what it saw.

    `stage` is how far its start is by its log, `restarts` its manager's count, `gave_up` why that stopped trying.
    """

    ready: int = 0
    refused: bool = False
    saw: str = "not looked at yet"
    at: Mark | None = None
    stage: str | None = None
    version: str | None = None
    restarts: int | None = None
    gave_up: str | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """Looks at a server under the run: how many in a row found it sick, what the last one saw and when."""

    sick: int
    saw: str
    at: Mark


@dataclass(frozen=True, slots=True)
class Facts:
    """What the run is measured on, as far as the machine tells: by name, and why the rest is unknown."""

    values: Mapping[str, str] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)
    took_s: float = 0.0


@dataclass(frozen=True, slots=True)
class State:
    """What is remembered between cycles, and may be forgotten: everything that must last is an event or a file."""

    probes: Mapping[str, Probe] = field(default_factory=dict)
    failed: Mapping[str, tuple[str, Mark]] = field(default_factory=dict)
    """Work that failed: why, and when; it is tried again after a while."""
    tries: Mapping[str, int] = field(default_factory=dict)
    """How often in a row it has failed."""
    posted: frozenset[str] = frozenset()
    """Facts that the store has."""
    facts: Facts | None = None
    missing: frozenset[str] = frozenset()
    """Servers whose processes were gone at the last look."""
    health: Mapping[str, Health] = field(default_factory=dict)
    """The looks at servers while the run works on them."""
    forked: str | None = None
    epoch_tried: bool = False


@dataclass(frozen=True, slots=True)
class News:
    """An event in the making: instance, session and time are added where it is written."""

    kind: str
    reason: str | None = None
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """A decision and what follows from it, in this order: a word to a person, an event, one act.

    `command` is what that person could type. `busy` = idle-guard is to see that work is going on; never while a
    person is waited for.
    """

    decision: Decision
    needs_you: str | None = None
    command: str | None = None
    news: News | None = None
    act: str | None = None
    busy: bool = False
    next_s: float = 1.0
