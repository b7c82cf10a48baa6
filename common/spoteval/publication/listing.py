"""What one LIST of `instances/<instance>/` says: holds, releases, facts and owners, by key names alone."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from spoteval.publication.keys import instance_prefix, original

_BOOT = re.compile(r"(\d+)-([^/]+)")
RUN_FACT = re.compile(r"run-(.+)-(\d+)")
"""The fact that assigns a run: its name, and the generation of its record."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of one boot."""

    seq: int
    session: str
    name: str


@dataclass(frozen=True, slots=True)
class InstanceListing:
    """Sets of names; bodies are fetched only where one is wanted."""

    holds: frozenset[str] = frozenset()
    releases: frozenset[str] = frozenset()
    facts: tuple[Fact, ...] = ()
    owners: tuple[str, ...] = ()

    @property
    def standing(self) -> tuple[str, ...]:
        """Ids of holds without a release."""
        return tuple(sorted(self.holds - self.releases))

    @property
    def newest_boot(self) -> tuple[int, str] | None:
        """Number and session of the newest boot that put any fact."""
        return max(((fact.seq, fact.session) for fact in self.facts), default=None)

    def boot_has(self, session: str, name: str) -> bool:
        """Whether the boot with this session put the fact."""
        return any(fact.session == session and fact.name == name for fact in self.facts)

    @property
    def assigned(self) -> tuple[str, int] | None:
        """Run and generation of the newest `run-<run>-<generation>` fact.

        Within one boot, a run that is not over goes before one that is: names have no other order.
        """
        found = [
            (fact.seq, match) for fact in self.facts if (match := RUN_FACT.fullmatch(fact.name))
        ]
        if not found:
            return None
        newest = max(seq for seq, _ in found)
        runs = (match for seq, match in found if seq == newest)
        run = max(runs, key=lambda match: (not self.ended(match[1]), int(match[2])))
        return run[1], int(run[2])

    def ended(self, run: str) -> bool:
        """Whether the guest put the fact that this run is over."""
        return any(fact.name == f"ended-{run}" for fact in self.facts)


def listing(instance: str, keys: Iterable[str]) -> InstanceListing:
    """Sort the keys below `instances/<instance>/`; keys of no known kind are left alone."""
    prefix = instance_prefix(instance)
    names = [key.removeprefix(prefix).removesuffix(".json").split("/") for key in keys]
    return InstanceListing(
        holds=frozenset(
            original(name[1]) for name in names if len(name) == 2 and name[0] == "holds"
        ),
        releases=frozenset(
            original(name[1]) for name in names if len(name) == 2 and name[0] == "releases"
        ),
        facts=tuple(fact for name in names if (fact := _fact(name)) is not None),
        owners=tuple(sorted(name[1] for name in names if len(name) == 2 and name[0] == "owner")),
    )


def _fact(name: list[str]) -> Fact | None:
    boot = _BOOT.fullmatch(name[1]) if len(name) == 3 and name[0] == "boots" else None
    return Fact(int(boot[1]), boot[2], original(name[2])) if boot else None
