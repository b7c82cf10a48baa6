"""What the follower remembers between passes. All of it may be lost: the journal and the witness are on the disk."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from spoteval.clock import Mark, Now, elapsed_s
from spoteval.control.eventlog import DecisionLog, tell
from spoteval.control.runfiles import read_intended
from spoteval.decision import HOUR_S, Decision
from spoteval.harness.directory_cursor import DirectoryCursor
from spoteval.paths import DurablePaths, RunPaths
from spoteval.run import RunRecord
from spoteval_agents.publication_follower.audit import Audit
from spoteval_agents.publication_follower.heartbeat import Beat, Heart
from spoteval_agents.publication_follower.journal import Journal
from spoteval_agents.publication_follower.lanes import Lanes
from spoteval_agents.publication_follower.milestone import Milestone
from spoteval_agents.publication_follower.screen import Screen
from spoteval_agents.publication_follower.sending import Target
from spoteval_agents.publication_follower.witness import Witness
from spoteval_agents.publication_follower.work import SETTLED_NS, Held, Ident, Outcome, Sight


@dataclass(slots=True)
class Quiet:
    """A pass that found nothing to do: while all looks as it did then (`sight`), neither does the next one.

    `beat`: what the run's records said then.
    """

    sight: Sight
    outcome: Outcome
    beat: Beat | None = None


@dataclass(slots=True)
class Memory:
    """Between passes. `due_s` is when the next regular pass is due, on the clock of `Mark.mono_s`.

    `stopping` and `woken`: a signal, or a touched file, was seen while a pass was under way.
    """

    log: DecisionLog = field(default_factory=lambda: DecisionLog(None))
    due_s: float = 0.0
    stopping: bool = False
    woken: bool = False
    run: str | None = None
    read: dict[str, Ident] = field(default_factory=dict)
    read_at: dict[str, float] = field(default_factory=dict)
    """When they were published, on the clock of `Mark.mono_s`."""
    failed: frozenset[str] = frozenset()
    held: dict[str, Held] = field(default_factory=dict)
    failing_since: Mark | None = None
    called: bool = False
    conflicts: int = 0
    """Attempts beside their names, of which a person was told."""
    took_at: Mark | None = None
    noted: tuple[int, Mark | None] | None = None
    """What idle-guard was told last: what waits, and when the store last took something."""
    milestone: Milestone = field(default_factory=Milestone)
    quiet: Quiet | None = None
    lanes: Lanes | None = None
    cursor: DirectoryCursor | None = None
    audit: Audit | None = None
    audit_ms: int | None = None
    """Processor time of the slice since the last pass; None where there was none."""
    audited: tuple[DurablePaths, RunPaths] | None = None
    """What the audit may go on with, after a pass that left nothing over."""
    _journal: Journal | None = None
    _witness: Witness | None = None
    _intended: int | None = None
    _heart: Heart | None = None
    _screen: Screen | None = None
    _said: tuple[str, str | None] | None = None
    _said_at: Mark | None = None

    def journal(self, disk: DurablePaths, store_url: str) -> Journal:
        """The journal, read once; raises OSError."""
        if self._journal is None:
            self._journal = Journal(disk.publication / "journal.jsonl", store_url)
            if self._journal.complaint is not None:
                tell(self._journal.complaint, warning=True)
        return self._journal

    def witness(self, target: Target) -> Witness:
        """The run's witness, of which each look reads what is new."""
        if self._witness is None:
            journal, run = target.journal, target.run
            self._witness = Witness(
                target.paths.finished, journal.ledger(run), journal.witness_bytes(run)
            )
        return self._witness

    def note_witness(self, target: Target) -> None:
        """Let the next process begin where all before is published."""
        if self._witness is not None and self._witness.is_plain:
            target.journal.note_witness(target.run, self._witness.size)

    def heart(self, disk: DurablePaths, instance: str, session: str) -> Heart:
        """The heart, made once."""
        if self._heart is None:
            self._heart = Heart(disk.publication / "heartbeat.json", instance, session)
        return self._heart

    def turn_to(self, run: str) -> None:
        """Forget what belongs to another run."""
        if self.run != run:
            self.run, self.read, self.read_at, self.failed = run, {}, {}, frozenset()
            self.held, self._screen, self.quiet, self.conflicts = {}, None, None, 0
            self._witness = self.cursor = self.audit = self._intended = None

    def learn(self, read: Mapping[str, Ident], failed: frozenset[str], now: Now) -> None:
        """Remember which files need no second look, and which failed."""
        until_ns = int(now.wall.timestamp() * 1e9) - SETTLED_NS
        self.read |= {name: ident for name, ident in read.items() if ident.mtime_ns < until_ns}
        self.read_at |= dict.fromkeys(read, now.mono_s)
        self.failed = failed

    def recent(self, every_s: float, now: Now) -> frozenset[str]:
        """Files that were published less than `every_s` ago."""
        return frozenset(name for name, at_s in self.read_at.items() if now.mono_s - at_s < every_s)

    def intended(self, paths: RunPaths) -> int | None:
        """How many episodes are intended, None while nobody knows; they are frozen once, and counted once."""
        if self._intended is None:
            found = read_intended(paths)
            self._intended = len(found) if isinstance(found, tuple) else None
        return self._intended

    def hold(self, withheld: Mapping[str, Held], finished: Iterable[str]) -> None:
        """Remember what holds a secret, until it is published after all."""
        self.held = {name: held for name, held in self.held.items() if name not in set(finished)}
        self.held |= withheld

    def screen(self, record: RunRecord, make: Callable[[RunRecord], Screen]) -> Screen:
        """What to look for, made once for a run; what it cannot look for is said then."""
        if self._screen is None:
            self._screen = make(record)
            for line in self._screen.complaints:
                tell(line, warning=True)
        return self._screen

    def judge(self, outcome: Outcome, now: Now) -> float | None:
        """Keep how long nothing works; returns the seconds of a failure that is over with this pass."""
        if outcome.errors and not (outcome.episodes or outcome.files):
            self.failing_since = self.failing_since or now.mark
            return None
        since, self.failing_since, self.called = self.failing_since, None, False
        return elapsed_s(since, now) if since is not None and outcome.requests else None

    def say(self, decision: Decision, now: Now) -> None:
        """Every publication is a line; what repeats is one when it begins, and then one an hour."""
        told = (decision.word, None if decision.word == "store-away" else decision.why)
        since_s = elapsed_s(self._said_at, now) if self._said_at is not None else None
        fresh = told != self._said or since_s is None or since_s >= HOUR_S
        if fresh or decision.word == "published":
            self._said, self._said_at = told, now.mark
            self.log.write(decision, now)
