"""What end-handler sees, remembers and may do: values only."""

from dataclasses import dataclass, field
from datetime import datetime

from spoteval.clock import Mark
from spoteval.control.completeness import Count
from spoteval.control.enders import Ender
from spoteval.control.ending import End
from spoteval.shape import Reading

AGENT = "end-handler"


@dataclass(frozen=True, slots=True)
class Policy:
    """What the host file says, and where the kill-switch lies."""

    power_off: bool
    publish_within_s: float
    every_s: float
    kill_switch: str


@dataclass(frozen=True, slots=True)
class RunSeen:
    """The active run, by its records and its unit's processes."""

    name: str
    count: Reading[Count]
    members: Reading[int] = 0
    deadline: Reading[datetime | None] = None
    end: Reading[End | None] = None
    limit_s: float | None = None
    """From the making of the run to its deadline: what it may be up in all, where no clock is right."""
    up_s: float | None = None
    """How long it was up so far, over all boots."""
    finishing: bool = False
    """A person has declared it over."""
    rehearsal: bool = False
    """It is a drill's own: the machine has something else to do after it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The world of one cycle. `work` names what is under way beside the loop."""

    session: str
    disk: str | None = None
    run: Reading[RunSeen | None] = None
    kill_switch: Reading[str | None] = None
    guest_hold: Reading[str | None] = None
    intents: Reading[tuple[Ender, ...]] = ()
    work: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to the follower that is not answered yet."""

    id: str
    kind: str
    at: Mark
    deadline_s: float
    last: bool = False
    """The one just before the power goes."""


@dataclass(frozen=True, slots=True)
class State:
    """What the world does not tell: answers, and tries that failed. A new process begins anew, which only repeats.

    `run`: the one that all of it is about.
    """

    run: str | None = None
    asked: Asked | None = None
    answered: Mark | None = None
    pending: int | None = None
    """What the follower's last answer left over; None while there was none."""
    end_passed: bool = False
    last_passed: bool = False
    """Answered or not: the power waits for one request only."""
    settled: bool = False
    fact: bool = False
    failures: dict[str, int] = field(default_factory=dict)
    failed: str | None = None
