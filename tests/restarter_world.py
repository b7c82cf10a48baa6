"""A restarter host on a real disk with a real store, a provider that a test scripts, and a clock that it moves."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from restarter_story import ME, OWNED, POLICY, PRICE, hold, now
from spoteval.clock import Now
from spoteval.control.eventlog import DecisionLog
from spoteval.control.facts import put_fact
from spoteval.control.holds import look, place, release
from spoteval.control.owner import register
from spoteval.decision import Decision
from spoteval.event import NEEDS_YOU, Event, event_from, events_from
from spoteval.files import read_lines
from spoteval.paths import InstancePaths
from spoteval.provider.contract import Observation, Price, Reply, State
from spoteval.shape import Reading
from spoteval.store.file import FileStore
from spoteval_agents.restarter.book import Book
from spoteval_agents.restarter.cycle import cycle
from spoteval_agents.restarter.decide import pause_s
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.strays import Strays
from spoteval_agents.restarter.telling import CLEARED
from spoteval_agents.restarter.world import World


@dataclass
class Clock:
    """Seconds after noon, of one boot, until a test says otherwise."""

    seconds: float = 0.0
    boot: str = "b1"
    synced: bool = True
    booted_s: float = 0.0
    wrong_s: float = 0.0

    def __call__(self) -> Now:
        passed = now(self.seconds + self.wrong_s, self.boot, synced=self.synced)
        return replace(passed, mono_s=self.seconds - self.booted_s)


def nothing() -> None:
    """What happens meanwhile unless a test says otherwise."""


@dataclass
class FakeProvider:
    """Answers what the test put there; `at_*` is what the world does during that call."""

    answer: Reading[Observation] = field(
        default_factory=lambda: Observation(State.STOPPED, billed=False)
    )
    price_answer: Reading[Price] = PRICE
    reply: Reply = field(default_factory=lambda: Reply(ok=True, kind="accepted"))
    cancels: bool = True
    at_observe: Callable[[], None] = nothing
    at_price: Callable[[], None] = nothing
    at_start: Callable[[], None] = nothing
    calls: list[str] = field(default_factory=list)

    def is_now(self, state: State, cause: str | None = None) -> None:
        """From now on it is in that state."""
        self.answer = Observation(state, billed=state is not State.STOPPED, cause=cause)

    def observe(self, deadline_s: float) -> Reading[Observation]:
        self.at_observe()
        return self.answer

    def start(self, deadline_s: float) -> Reply:
        self.calls.append("start")
        self.at_start()
        return self.reply

    def stop(self, deadline_s: float) -> Reply:
        self.calls.append("stop")
        return self.reply

    def price(self, deadline_s: float) -> Reading[Price]:
        self.at_price()
        return self.price_answer


class Host:
    """One restarter host with one instance, `gpu-1`, and a run to do."""

    def __init__(self, root: Path, policy: Policy = POLICY) -> None:
        self.paths = InstancePaths(root / "state", "gpu-1")
        self.paths.hold.parent.mkdir(parents=True)
        (root / "store").mkdir()
        self.store = FileStore(root / "store")
        self.store_root = root / "store"
        self.clock = Clock()
        self.provider = FakeProvider()
        self.policy = policy
        strays = Strays(self.paths.hold.parent, ["gpu-1"])
        store = None if policy.local else self.store
        self.world = World("gpu-1", self.provider, store, self.paths, strays, self.clock)
        self.fact("run-swe-1")
        self.restart()
        if policy.identity is not None:
            self.own()

    @property
    def mirror(self) -> Path:
        """Where holds of the store lie as files."""
        return self.world.mirror

    def own(self) -> None:
        """This host has owned the instance for long."""
        register(self.store, "gpu-1", ME, self.clock().wall)
        self.book.state = replace(self.book.state, owner=OWNED)

    def fact(self, name: str, seq: int = 1) -> None:
        """The guest puts a fact."""
        put_fact(self.store, "gpu-1", seq, f"s{seq}", name, {})

    def place(
        self,
        hold_id: str = "operator-1",
        *,
        ensure_stopped: bool = False,
        stop_after_s: float = 600,
    ) -> None:
        """Somebody puts a hold into the store."""
        place(self.store, hold(hold_id, ensure_stopped=ensure_stopped, stop_after_s=stop_after_s))

    def restart(self) -> None:
        """The process begins anew with what lies on the disk."""
        self.book = Book(self.paths, self.clock())
        self.log = DecisionLog(self.paths.decisions)

    def cycle(self, at_s: float | None = None) -> Decision:
        """One cycle at that second."""
        self.clock.seconds = self.clock.seconds if at_s is None else at_s
        return cycle(self.world, self.book, self.log, self.policy)

    def words(self, *at_s: float) -> list[str]:
        """The decisions of cycles at those seconds."""
        return [self.cycle(second).word for second in at_s]

    def live(self, until_s: float) -> list[str]:
        """Cycles at the restarter's own pace up to that second; the decisions, each change once."""
        found: list[str] = []
        while self.clock.seconds < until_s:
            decision = self.cycle()
            if not found or found[-1] != decision.word:
                found.append(decision.word)
            self.clock.seconds += pause_s(decision, self.book.state, self.policy)
        return found

    def release_all(self) -> tuple[str, ...]:
        """A person lifts every hold of the store; their names."""
        names = look(self.store, "gpu-1").standing
        for name in names:
            release(self.store, "gpu-1", name, "ana", self.clock().wall)
        return names

    def told(self) -> list[str]:
        """What a person heard, in order: topics, a minus before those that were over."""
        kinds = {NEEDS_YOU: "", CLEARED: "-"}
        records = read_lines(self.paths.events).records
        events = (item for item in map(event_from, records) if isinstance(item, Event))
        return [
            f"{kinds[event.kind]}{event.detail['topic']}" for event in events if event.kind in kinds
        ]

    def events(self) -> list[Event]:
        """The log of events."""
        return list(events_from(read_lines(self.paths.events).records))

    def kinds(self) -> list[str]:
        """The kinds in the log, in the order in which they stand there."""
        return [str(record["kind"]) for record in read_lines(self.paths.events).records]
