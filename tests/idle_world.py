"""An idle machine under an idle guard: a directory for its disk, counters in files, a clock that pauses move."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hook_world import AtOnce, Guest
from spoteval.clock import Now
from spoteval.control import enders
from spoteval.control.children import Reply
from spoteval.control.enders import Ender
from spoteval.control.eventlog import DecisionLog
from spoteval.decision import Decision
from spoteval.files import read_lines
from spoteval.shape import Reading, Table, Unreadable
from spoteval_agents.idle_guard.agent import Guard
from spoteval_agents.idle_guard.eyes import Eyes
from spoteval_agents.idle_guard.samples import OVER_S, Counters, Sampler
from spoteval_agents.idle_guard.seen import Policy
from spoteval_agents.idle_guard.world import Probes

AGENT = "idle-guard"


class Heard(DecisionLog):
    """A log that also keeps every line."""

    def __init__(self) -> None:
        super().__init__(None)
        self.lines: list[str] = []

    def write(self, decision: Decision, now: Now) -> str:
        """Write it, and remember it."""
        self.lines.append(super().write(decision, now))
        return self.lines[-1]


@dataclass
class Idle:
    """An idle machine under an idle guard, and what became of it."""

    guest: Guest
    session: str = "5e55"
    proof: Reading[str] = "proved"
    ticks: int = 1000
    worker: AtOnce = field(default_factory=AtOnce)
    eyes: Eyes = field(default_factory=lambda: Eyes(AtOnce(), wants_gpu=False, servers=()))
    heard: Heard = field(default_factory=Heard)
    tried: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """Verbs, besides the hold's."""

    def __post_init__(self) -> None:
        root = self.guest.root
        counters = Counters(root / "stat", root / "diskstats", root / "block", root / "net")
        (root / "block").mkdir(exist_ok=True)
        (root / "block" / "vda").touch()
        self.transfer()
        self.guard = Guard(
            config=self.guest.config,
            host=self.guest.host,
            policy=Policy(after_s=1200.0, cpu_above=0.10, every_s=60.0),
            probes=Probes(
                self.guest.config,
                self.guest.host,
                self.session,
                self.guest.units,
                Sampler(counters),
                root / "sessions",
                root / "inhibit",
            ),
            worker=self.worker,
            eyes=self.eyes,
            log=self.heard,
            prove=self.proves,
            random=lambda size: b"\xab\x12"[:size],
            ask=self._ask,
        )

    @property
    def off(self) -> bool:
        """Whether the machine was asked to power off."""
        return self.guest.host.poweroff.exists()

    @property
    def line(self) -> str:
        """The last line."""
        return self.heard.lines[-1]

    def look(self, busy: float = 0.0) -> float:
        """One cycle after the processors worked that much."""
        self.ticks += 1000
        work = round(1000 * busy)
        (self.guest.root / "stat").write_text(f"cpu {work} 0 0 {self.ticks} 0 0 0 0\n")
        return self.guard.cycle(self.guest.clock())

    def transfer(self, disk: int = 0, network: int = 0) -> None:
        """So many bytes since boot."""
        (self.guest.root / "diskstats").write_text(f" 253 0 vda 1 0 {disk // 512} 0 1 0 0 0 0\n")
        row = f"  eth0: {network} 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0\n"
        (self.guest.root / "net").write_text(f"head\nhead\n    lo: 9 1 0 0 0 0 0 0 9\n{row}")

    def until(self, seconds: float) -> None:
        """Cycles until then, as long apart as the guard wants; at least 10 s, over which the share is taken."""
        while self.guest.clock.at_s < seconds and not self.off:
            pause_s = self.look()
            self.guest.clock.pause(max(OVER_S, pause_s))

    def kinds(self) -> list[str]:
        """The events, with the run or without."""
        logs = (self.guest.run.events, self.guest.durable.root / "events.jsonl")
        return [str(record["kind"]) for log in logs for record in read_lines(log).records]

    def intents(self) -> tuple[Ender, ...]:
        """The intents on the disk."""
        found = enders.enders(self.guest.durable.enders)
        assert isinstance(found, tuple)
        return found

    def _ask(self, verb: Sequence[str], within_s: float) -> Reading[Reply]:
        self.asked.append(" ".join(verb))
        return Reply(Table({"key": "k"}, "spoteval fact put"))

    def proves(self, places: Sequence[Path], intent: Ender) -> Reading[str]:
        """The child that places the hold."""
        self.tried.append(intent.hold_id)
        if not isinstance(self.proof, Unreadable):
            place = next(place for place in places if (place / f"{intent.name}.json").exists())
            enders.mark_proved(place, intent.name, {"by": AGENT})
        return self.proof
