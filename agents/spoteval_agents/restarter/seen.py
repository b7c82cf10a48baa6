"""What one look at one instance brought: each part a reading, because unknown is not false."""

import re
from dataclasses import dataclass
from functools import cached_property

from spoteval.clock import Mark
from spoteval.control.drills import Announced
from spoteval.hold import Hold
from spoteval.provider.contract import Observation, Price, State, error_kind
from spoteval.publication.listing import RUN_FACT, Fact, InstanceListing
from spoteval.shape import Reading, Unreadable
from spoteval_agents.restarter.state import Assignment

UNDERSTOOD = frozenset(
    [State.STARTING, State.RUNNING, State.STOPPING, State.STOPPED, State.UNRESTARTABLE]
)
OFF = frozenset([State.STOPPED, State.UNRESTARTABLE])


@dataclass(frozen=True)  # without slots: what is asked more than once a look is counted once
class StoreSight:
    """One LIST of the instance's prefix. `bodies`: of those holds that the state does not know yet."""

    listing: InstanceListing
    bodies: tuple[Hold, ...] = ()
    run: Assignment | None = None

    @cached_property
    def boot_seq(self) -> int:
        """Number of the newest boot that put any fact; 0 before the first."""
        newest = self.listing.newest_boot
        return newest[0] if newest is not None else 0

    def facts_of(self, boot: int) -> frozenset[str]:
        """Names of the facts that this boot put."""
        return frozenset(fact.name for fact in self.listing.facts if fact.seq == boot)

    @property
    def newest_facts(self) -> frozenset[str]:
        """Names of the facts of the newest boot."""
        return self.facts_of(self.boot_seq)

    @cached_property
    def finished(self) -> int:
        """The greatest number of finished episodes that a boot of this run announced.

        A boot in which another run was assigned as well does not say which of them it speaks of.
        """
        assigning = [(fact.seq, match[1]) for fact in self.listing.facts if (match := _run(fact))]
        run = self.run.run if self.run is not None else None
        first = min((seq for seq, name in assigning if name == run), default=0)
        shared = {seq for seq, name in assigning if name != run}
        own = (fact for fact in self.listing.facts if fact.seq >= first and fact.seq not in shared)
        found = (_threshold(fact.name) for fact in own)
        return max((number for number in found if number is not None), default=0)

    @cached_property
    def newest_keep(self) -> str | None:
        """The newest boot that something keeps on, and in how many hours: their names follow a clock that may be
        set back."""
        boots = [fact.seq for fact in self.listing.facts if _is_keep(fact.name)]
        newest = max(boots, default=None)
        return f"{newest}/{boots.count(newest)}" if newest is not None else None


@dataclass(frozen=True, slots=True)
class Guest:
    """The guest's last sign of life."""

    age_s: float | None
    finished: int | None
    intended: int | None
    in_flight: int | None


@dataclass(frozen=True, slots=True)
class Seen:
    """One look. `taken` lies before the provider was asked. `price` None: it was not asked for.

    `mirror`: names in the directory of mirrored holds, None where it is absent. `first_owners`: what the first
    of two LISTs said, None where there was only one.
    """

    provider: Reading[Observation]
    taken: Mark
    file_hold: Reading[str | None]
    store: Reading[StoreSight]
    mirror: Reading[frozenset[str] | None] = None
    strays: tuple[str, ...] = ()
    guest: Guest | None = None
    price: Reading[Price] | None = None
    first_owners: tuple[str, ...] | None = None
    drill: Reading[Announced | None] = None

    @property
    def understood(self) -> Observation | None:
        """The observation, if it is one that the table of decisions has a row for."""
        if isinstance(self.provider, Unreadable) or self.provider.state not in UNDERSTOOD:
            return None
        return self.provider

    @property
    def holds_error(self) -> str | None:
        """Why it is not known whether a hold stands, or None."""
        for reading in (self.file_hold, self.store):
            if isinstance(reading, Unreadable):
                return reading.why
        return None

    @property
    def word(self) -> str:
        """The provider's state as it stands in a line."""
        if isinstance(self.provider, Unreadable):
            return "GONE" if error_kind(self.provider) == "gone" else "UNKNOWN"
        return self.provider.state.value


def _run(fact: Fact) -> re.Match[str] | None:
    return RUN_FACT.fullmatch(fact.name)


def _is_keep(name: str) -> bool:
    return name.startswith("keep-")


def _threshold(name: str) -> int | None:
    """The number in `finished-<threshold>`."""
    number = name.removeprefix("finished-")
    return int(number) if number != name and number.isdecimal() else None
