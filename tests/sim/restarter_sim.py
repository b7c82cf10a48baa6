"""The real restarter over days of virtual time: market, guest, people, faults and crashes from one seed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random

from crash_points import Crash, CrashPoints
from restarter_story import NOON
from sim.virtual_cloud import VirtualCloud
from sim.virtual_people import STOP_AFTER_S, People
from sim.virtual_provider import Faults, VirtualProvider
from spoteval.clock import Now
from spoteval.config.grant import Grant
from spoteval.config.restarter import PollSettings
from spoteval.control.eventlog import DecisionLog
from spoteval.decision import Decision
from spoteval.files import read_lines
from spoteval.local.market import Market
from spoteval.local.node_decide import Step
from spoteval.local.weather import Weibull
from spoteval.paths import InstancePaths
from spoteval.settings.money import Money
from spoteval.store.contract import Stored, StoreError
from spoteval.store.file import FileStore
from spoteval_agents.restarter.book import Book
from spoteval_agents.restarter.cycle import cycle
from spoteval_agents.restarter.decide import pause_s
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.strays import Strays
from spoteval_agents.restarter.world import World

POLL = PollSettings(start_window_s=300.0, backoff_max_s=400.0, loop_guard=1_000_000)
WORK_S = 6_000.0
ON_TIME_S = POLL.every_s + POLL.grace_s + 2 * POLL.in_motion_s
"""From stopped and free to the request: the poll that sees it, the grace, and a poll after its end."""
AT_LAST_S = ON_TIME_S + POLL.start_window_s + POLL.backoff_max_s + 2 * POLL.every_s
"""The same with a window that must close and the longest backoff."""


class Violated(AssertionError):
    """What must never happen, or must, by its number in the design."""


@dataclass
class Figures:
    """What happened, summed over histories."""

    cycles: int = 0
    preemptions: int = 0
    crashes: int = 0
    starts: int = 0
    answers_lost: int = 0
    capacity_failures: int = 0
    doubled: int = 0
    stops: int = 0
    holds: int = 0
    runs: int = 0
    days: float = 0.0

    def add(self, other: "Figures") -> None:
        """Sum up."""
        for name in Figures.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def line(self) -> str:
        """One line for people."""
        named = (f"{name} {getattr(self, name):g}" for name in Figures.__dataclass_fields__)
        return " · ".join(named)


class FlakyStore(FileStore):
    """A store that is out of reach now and then."""

    away = False

    def list(self, prefix: str) -> Iterator[Stored]:
        if self.away:
            raise StoreError("connection refused")
        return super().list(prefix)


@dataclass
class Sim:
    """One history. `steps` runs cycles; it raises Violated."""

    root: Path
    seed: int
    points: CrashPoints
    rough: float = 1.0  # how much goes wrong: 0 nothing, 1 a lot
    seconds: float = 0.0
    boot: int = 1
    booted_s: float = 0.0
    synced: bool = True
    trace: list[tuple[float, str]] = field(default_factory=list)
    figures: Figures = field(default_factory=Figures)
    _seen_holds: set[str] = field(default_factory=set)
    _insist_at_s: float | None = None

    def __post_init__(self) -> None:
        self.dice = Random(self.seed)
        weather = Weibull(shape=0.8, scale_s=1200.0, no_capacity=0.25, call_fails=0.15)
        self.cloud = VirtualCloud(Market(self.seed, weather), self._changed)
        self.provider = VirtualProvider(self.cloud, self._check_start, self._pass)
        paths = InstancePaths(self.root / "state", "gpu-1")
        paths.hold.parent.mkdir(parents=True)
        (self.root / "store").mkdir()
        self.people = People(self.root / "store", paths, work_left_s=WORK_S)
        self.people.fact(0, "run-r1-1")
        self.store = FlakyStore(self.root / "store")
        strays = Strays(paths.hold.parent, ["gpu-1"])
        self.world = World("gpu-1", self.provider, self.store, paths, strays, self.now)
        cap = Money(10.0, "USD", "hour")
        grant = Grant(  # the rules would end most histories early: they have tests of their own
            price_cap=cap,
            failed_starts_s=None,
            preemptions_before_healthy=None,
            preemptions_before_episodes=None,
        )
        self.policy = Policy("gpu-1", str(paths.hold), POLL, grant)
        self.last_start_s: float | None = None
        self.free_since_s: float | None = None
        self.unwanted_since_s: float | None = None
        self.clean = True
        self._process()

    def now(self) -> Now:
        """The virtual clock. An unsynchronised one is an hour behind."""
        wall = NOON + timedelta(seconds=self.seconds - (0 if self.synced else 3600))
        return Now(wall, self.seconds - self.booted_s, f"b{self.boot}", self.synced)

    def steps(self, number: int) -> Figures:
        """So many cycles."""
        for _ in range(number):
            self._step()
        self.figures.cycles, self.figures.days = number, self.seconds / 86400
        self.figures.preemptions, self.figures.runs = self.cloud.preempted, self.people.run
        self.figures.starts, self.figures.stops = self.provider.starts, self.provider.stops
        self.figures.answers_lost = self.provider.answers_lost
        self.figures.holds = len(self.people.placed)
        self._check_events()
        return self.figures

    # One step

    def _step(self) -> None:
        faults = self.provider.faults = self._faults()
        away = self._chance(0.02)
        crash_at = self.dice.randint(1, 12) if self._chance(0.4) else 1_000_000
        self.store.away = away
        starts, stops = self.provider.starts, self.provider.stops
        crashed = False
        decision: Decision | None = None
        try:
            with self.points.crash_at(crash_at):
                decision = cycle(self.world, self.book, self.log, self.policy)
        except Crash:
            crashed = True
        self.trace.append((self.seconds, decision.word if decision is not None else "crash"))
        self._check_holds()
        excused = crashed or away or faults.keep_from_starting or not self.synced
        self._check_start_comes(started=self.provider.starts > starts, excused=excused)
        self._check_stop_comes(stopped=self.provider.stops > stops, excused=excused)
        if crashed or self._chance(0.01):
            self._die()
        self._pass(
            pause_s(decision, self.book.state, self.policy) if decision is not None else 10.0
        )
        self._guest_acts()
        self._people_act()

    def _faults(self) -> Faults:
        return Faults(
            silent=self._chance(0.03),
            slow_s=self.dice.uniform(1, 25) if self._chance(0.05) else 0.0,
            dear=self._chance(0.03),
            at_price=self._hold if self._chance(0.03) else None,
            die_before_start=self._chance(0.1),
            die_after_start=self._chance(0.15),
        )

    def _hold(self) -> None:
        self.people.hold(self.dice)

    def _guest_acts(self) -> None:
        """Its work done, it places its hold; then it powers off, or hangs and leaves that to the restarter."""
        serving = self.cloud.history[-1].name == "serving"
        served_s = self.seconds - self.cloud.began_s
        if serving and not self.people.over and served_s >= self.people.work_left_s:
            self.people.end_run(self.cloud.boot)
            if self.dice.random() < 0.5:
                self.cloud.power_off()

    def _people_act(self) -> None:
        if self._chance(0.015):
            self._hold()
        if self.people.held and self.dice.random() < 0.05:
            self.people.lift(self.dice)
        if self._insist_at_s is not None and self.seconds > self._insist_at_s:
            self.people.insist()
            self._insist_at_s = None
        if self.people.over and self.dice.random() < 0.01:
            self.people.next_run(self.cloud.boot, WORK_S)
        if not self.synced and self.dice.random() < 0.3:
            self.synced = True

    def _chance(self, probability: float) -> bool:
        return self.dice.random() < probability * self.rough

    def _die(self) -> None:
        """The process is gone; sometimes its host was too, or a power cut left zeros where its memory was."""
        self.figures.crashes += 1
        if self.dice.random() < 0.3:
            self.boot, self.booted_s = self.boot + 1, self.seconds
            self.synced = self.synced and self.dice.random() < 0.5
            if self.dice.random() < 0.3 and self.world.paths.state.exists():
                self.world.paths.state.write_bytes(b"\0" * 100)
        self._pass(self.dice.uniform(1, 60))
        self._insist_at_s = self.seconds + 60
        self._process()

    def _process(self) -> None:
        self.book = Book(self.world.paths, self.now())
        self.log = DecisionLog(self.world.paths.decisions)
        self.clean = False

    def _pass(self, seconds: float) -> None:
        self.seconds += seconds
        self.cloud.advance(self.seconds)

    # What the guest does

    def _changed(self, cloud: VirtualCloud, step: Step) -> None:
        if step.deed == "boot":
            self.people.fact(cloud.boot, "booted")
            self.people.fact(cloud.boot, f"run-r{self.people.run}-1")
        if step.deed == "notice":
            self.people.fact(cloud.boot, "notice")
        served = cloud.history[-2] if len(cloud.history) > 1 else cloud.history[-1]
        if step.phases and served.name == "serving":
            self._worked(served.length_s)

    def _worked(self, seconds: float) -> None:
        """A life has ended its work: what it did counts, and the run may be over, found out in its last breath."""
        self.people.work_left_s -= seconds
        if self.people.work_left_s <= 0 and not self.people.over:
            self.people.end_run(self.cloud.boot)

    # What must hold

    def _check_start(self) -> None:
        """I1 and I2, by the truth, at the moment at which a request takes effect."""
        if self.people.held:
            raise Violated(f"I1: started while held at {self.seconds:.0f} s (seed {self.seed})")
        if self.people.over:
            raise Violated(f"I1: started after the run was over (seed {self.seed})")
        if self.provider.faults.dear:
            raise Violated(f"I1: started above the cap (seed {self.seed})")
        if self._open():
            self.figures.doubled += 1
            raise Violated(f"I2: two requests open at {self.seconds:.0f} s (seed {self.seed})")
        self.last_start_s = self.seconds

    def _open(self) -> bool:
        """Whether the last request may still come to RUNNING: it has not, and its window is open."""
        asked_s, ran_s = self.last_start_s, self.cloud.last_start_s
        if asked_s is None or (ran_s is not None and ran_s >= asked_s):
            return False
        return self.seconds - asked_s < POLL.start_window_s

    def _check_holds(self) -> None:
        """I5: nobody but people lifts a hold, in the store or in the restarter's memory."""
        releases = self.people.store / "instances/gpu-1/releases"
        released = {path.stem for path in releases.glob("*.json")}
        if not released <= self.people.lifted:
            raise Violated(f"I5: released by nobody: {released - self.people.lifted}")
        known = {item.hold.id for item in self.book.state.holds}
        if forgotten := (self._seen_holds & self.people.standing) - known:
            raise Violated(f"I5: forgotten: {forgotten} (seed {self.seed})")
        self._seen_holds = known

    def _check_stop_comes(self, *, stopped: bool, excused: bool) -> None:
        """I7: what runs under a hold that wants it off is asked to stop, after the hold's grace and two polls."""
        unwanted = self.cloud.state == "RUNNING" and self.people.wants_stop
        if stopped or excused or not unwanted:
            self.unwanted_since_s = None
            return
        if self.unwanted_since_s is None:
            self.unwanted_since_s = self.seconds
        if self.seconds - self.unwanted_since_s > STOP_AFTER_S + 2 * POLL.every_s:
            raise Violated(f"I7: runs on at {self.seconds:.0f} s (seed {self.seed})")

    def _check_events(self) -> None:
        """Nothing is told twice and nothing is left out, whatever was cut: each life begins and ends once."""
        kinds = [record["kind"] for record in read_lines(self.world.paths.events).records]
        self.figures.capacity_failures = kinds.count("capacity-failure")
        began, ended = kinds.count("running"), kinds.count("stopped")
        if not (began <= self.cloud.boot and ended in (began, began - 1)):
            raise Violated(f"events: {began} began, {ended} ended of {self.cloud.boot} lives")
        asked = kinds.count("start-asked")
        if asked < self.provider.starts:
            raise Violated(f"events: {asked} asked, {self.provider.starts} requests went out")

    def _check_start_comes(self, *, started: bool, excused: bool) -> None:
        """I11: stopped and free is started in time, windows and backoff included."""
        idle = self.cloud.state == "STOPPED" and not self.people.held and not self.people.over
        if started or excused or not idle:
            self.free_since_s, self.clean = None, self.book.state.ask is None
            return
        if self.free_since_s is None:
            self.free_since_s = max(self.seconds - POLL.every_s, self.cloud.began_s)
            self.clean = self.book.state.ask is None and self.book.state.failures == 0
        within_s = ON_TIME_S if self.clean else AT_LAST_S
        if self.seconds - self.free_since_s > within_s:
            raise Violated(
                f"I11: stopped and free for {self.seconds - self.free_since_s:.0f} s and not"
                f" started at {self.seconds:.0f} s (seed {self.seed}): {self.trace[-5:]}"
            )
