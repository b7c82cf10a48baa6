"""What really is the case in the virtual world, as far as the rules of the design need it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from sim.virtual_cloud import VirtualCloud
from sim.virtual_guest import VirtualGuest
from sim.virtual_host import VirtualHost
from sim.virtual_people import HOLDS, OWNERS, People
from spoteval.config.restarter import PollSettings
from spoteval.control.owner import Owner, owner_among
from spoteval.provider.contract import Reply
from spoteval.publication.keys import hold_key

LATE_S = 45.0
"""A put is listed by others at most so many seconds later."""


class Violated(AssertionError):
    """What must never happen, or must, by its number in the design."""

    def __init__(self, number: str, what: str) -> None:
        super().__init__(f"{number}: {what}")
        self.number = number


@dataclass
class Asked:
    """The last start request.

    `polls`: looks at the stopped instance since it was answered. `seen_on`: a look has found it running since, by
    this request or by one of others that came before it.
    """

    at_s: float
    host: str
    reply: Reply | None = None
    polls: int = 0
    seen_on: bool = False


@dataclass
class StopAsked:
    """The last stop request of one host in a life, by the number of its boot, and which one it was."""

    at_s: float
    count: int
    boot: int


@dataclass
class Truth:
    """`own_stops`: when in a life a host asked for a stop, last. `rows`: those that the table has: what a row must
    bring is asked for only where it is there.
    """

    people: People
    cloud: VirtualCloud
    guest: VirtualGuest
    poll: PollSettings
    rows: frozenset[int]
    asked: Asked | None = None
    stops: dict[str, StopAsked] = field(default_factory=dict)
    starts: int = 0
    own_stops: dict[tuple[int, str], float] = field(default_factory=dict)

    @property
    def now_s(self) -> float:
        """The true time."""
        return self.cloud.seconds

    @property
    def free(self) -> bool:
        """Whether a start is wanted, possible and held up by nothing."""
        idle = self.cloud.state == "STOPPED" and self.cloud.spell is None
        people = self.people
        held = people.held or people.unwritten
        return idle and people.granted and not held and not people.over

    @property
    def owner(self) -> str | None:
        """Identity of the owner on the shelf, None where nobody ever took the instance over."""
        owner = owner_in(self.people.owners)
        return owner.identity if owner is not None else None

    @property
    def stops_of_life(self) -> dict[str, StopAsked]:
        """The last stop request of each host since the instance was off, or came up after all."""
        return {name: stop for name, stop in self.stops.items() if stop.boot == self.cloud.boot}

    def serves(self, host: VirtualHost) -> bool:
        """Whether it is this host that must start the instance."""
        return 16 not in self.rows or self.owner == host.identity

    def holds_in(self, host: VirtualHost) -> set[str]:
        """Holds that nobody lifted and that this host's last LIST named."""
        standing = self.people.standing
        if not standing:
            return standing
        keys = host.store.keys
        return {hold_id for hold_id in standing if key_of(hold_id) in keys}

    def holds_listable(self, host: VirtualHost) -> set[str]:
        """Holds that nobody lifted and that a LIST by this host would name now."""
        keys = self.people.shelf.listed(host.name, HOLDS)
        return {hold_id for hold_id in self.people.standing if key_of(hold_id) in keys}


@lru_cache(maxsize=1024)
def key_of(hold_id: str) -> str:
    """The key of a hold."""
    return hold_key("gpu-1", hold_id)


def owner_in(keys: Iterable[str]) -> Owner | None:
    """The greatest entry of the register among keys."""
    return _owner_of(tuple(key for key in keys if key.startswith(OWNERS)))


@lru_cache(maxsize=1024)
def _owner_of(names: tuple[str, ...]) -> Owner | None:
    return owner_among(name.removeprefix(OWNERS).removesuffix(".json") for name in names)


@dataclass
class Patience:
    """How long something has been due, without the time that faults excuse."""

    spent_s: float = 0.0
    limit_s: float = 0.0
    running: bool = False

    def over(self) -> None:
        """It came, or is not due any more."""
        self.running, self.spent_s, self.limit_s = False, 0.0, 0.0

    def begin(self, limit_s: float, spent_s: float = 0.0) -> None:
        """It is due within that many seconds, of which some have passed."""
        self.running, self.limit_s, self.spent_s = True, limit_s, spent_s

    def passes(self, seconds: float, credit_s: float) -> None:
        """A step of so many seconds; spoilt by a fault it counts nothing and gives some back."""
        if credit_s > 0:
            self.spent_s = max(0.0, self.spent_s - credit_s)
        else:
            self.spent_s += seconds

    @property
    def lost(self) -> bool:
        """Whether it should have come by now."""
        return self.running and self.spent_s > self.limit_s
