"""One restarter host of the virtual world: its clock, its disk, its way to the store, and the real agent on it."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from crash_points import Crash
from sim.cutting import Cut, Listener, Points, SlowDisk
from sim.fault_plan import Faults
from sim.scene import REGION, TYPE
from sim.virtual_clock import VirtualClock
from sim.virtual_provider import VirtualProvider
from sim.virtual_store import DiskStore, VirtualStore
from spoteval.config.grant import Grant
from spoteval.config.restarter import PollSettings
from spoteval.control.eventlog import DecisionLog
from spoteval.decision import Decision
from spoteval.paths import InstancePaths
from spoteval_agents.restarter.book import Book
from spoteval_agents.restarter.cycle import cycle
from spoteval_agents.restarter.decide import pause_s
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.strays import Strays
from spoteval_agents.restarter.world import World


@dataclass
class VirtualHost:
    """`open` begins the process anew, `cycle` serves the instance once, both cut where the faults say so."""

    name: str
    root: Path
    clock: VirtualClock
    provider: VirtualProvider
    store: VirtualStore | DiskStore
    poll: PollSettings
    grant: Grant
    passes: Callable[[float], None]
    points: Points
    due_s: float = 0.0
    down: bool = False
    away_until_s: float = 0.0
    confused_s: float = -1e9  # when it last lost its memory or was lied to
    crashed: tuple[str, str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        paths = self.paths
        paths.hold.parent.mkdir(parents=True)
        self.identity = str(uuid.UUID(int=Random(f"identity {self.name}").getrandbits(128)))
        (self.root / "identity").write_text(f"{self.identity}\n")
        self.policy = Policy(
            "gpu-1",
            str(paths.hold),
            self.poll,
            self.grant,
            self.identity,
            type=TYPE,
            region=REGION,
        )
        self.open()

    @property
    def paths(self) -> InstancePaths:
        """Its files."""
        return InstancePaths(self.root, "gpu-1")

    def open(self) -> None:
        """The process begins, with what lies on the disk and nothing else."""
        strays = Strays(self.paths.hold.parent, ["gpu-1"])
        self.world = World("gpu-1", self.provider, self.store, self.paths, strays, self.clock)
        self.book = Book(self.paths, self.clock())
        self.log = DecisionLog(self.paths.decisions)
        self.down = False

    def cycle(self, faults: Faults) -> Decision | None:
        """One cycle; None where the process was cut. Afterwards `crashed` says where."""
        self.crashed = None
        self.provider.faults = faults
        self.store.loses_answers = "put-lost" in faults
        listener = self._listener(faults)
        try:
            with self.points.listening(listener):
                decision = cycle(self.world, self.book, self.log, self.policy)
        except Crash:
            assert isinstance(listener, Cut)
            self.crashed = listener.where
            return None
        if "crash-before" in faults:
            self.crashed = ("end", "nothing more was written")
            return None
        return decision

    def pause_s(self, decision: Decision) -> float:
        """Seconds until the next cycle."""
        return pause_s(decision, self.book.state, self.policy)

    def power_cut(self) -> None:
        """Zeros where the memory was, and half a line at the end of the events: what a power cut leaves."""
        if self.paths.state.exists():
            self.paths.state.write_bytes(b"\0" * 100)
        if self.paths.events.exists():
            with self.paths.events.open("ab") as file:
                file.write(b'{"at": "2026-12-0')

    def _listener(self, faults: Faults) -> Listener | None:
        for kind in ("crash-before", "crash-after"):
            if kind in faults:
                size = faults.kinds[kind]
                n = 1 + int(size * 16) % 8
                return Cut(n, after=kind == "crash-after", at_request=size > 0.6)
        if "slow-disk" in faults:
            return SlowDisk(faults.within("slow-disk", 4.0, 20.0), self.passes)
        return None
