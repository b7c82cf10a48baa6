"""Which faults are in force in a cycle: it struck now or in one of the two before, or its effect still lasts."""

from dataclasses import dataclass, field

from sim.fault_plan import Faults
from sim.virtual_host import VirtualHost

_WHEN_SEEN = ("timeout", "slow", "lie", "late-list", "power-cut")


@dataclass
class InForce:
    """Of one host. A lost answer lasts until the next answer of its kind."""

    recent: list[set[str]] = field(default_factory=lambda: [set(), set()])
    lost: set[str] = field(default_factory=set)
    clock: str = "unsynced"
    puts_lost: int = 0

    def kinds(self, host: VirtualHost, faults: Faults, *, asked: bool) -> set[str]:
        """The columns of the table that this cycle counts for."""
        struck = {kind for kind in _WHEN_SEEN if kind in faults}
        if host.crashed is not None:
            struck |= {kind for kind in ("crash-before", "crash-after") if kind in faults}
        if asked:
            self.lost -= {"lost-answer", "lost-request"}
            self.lost |= {kind for kind in ("lost-answer", "lost-request") if kind in faults}
        self._store(host, faults, struck)
        self._clock(host, faults, struck)
        kinds = struck | self.recent[0] | self.recent[1] | self.lost
        self.recent = [self.recent[1], struck]
        return kinds

    def _store(self, host: VirtualHost, faults: Faults, struck: set[str]) -> None:
        if host.store.away:
            struck.add("store-away")
        if host.store.lost > self.puts_lost:
            self.lost.add("put-lost")
        elif host.store.answered:
            self.lost.discard("put-lost")
        host.store.answered = False
        self.puts_lost = host.store.lost
        if host.store.late:
            struck.add("late-list")

    def _clock(self, host: VirtualHost, faults: Faults, struck: set[str]) -> None:
        self.clock = next(
            (kind for kind in ("clock-jump", "unsynced") if kind in faults), self.clock
        )
        if not host.clock.synced:
            struck.add(self.clock)
