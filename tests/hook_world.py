"""A guest without processes: a directory for its disk, scripted members, a clock that pauses move."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from spoteval.clock import Now
from spoteval.config.guest import GuestConfig, read_guest
from spoteval.control.eventlog import DecisionLog
from spoteval.control.worker import Work
from spoteval.decision import Decision
from spoteval.files import read_lines
from spoteval.interruption import Opened
from spoteval.machine.systemd import Notifier
from spoteval.notice.contract import Notice
from spoteval.paths import DurablePaths, HostPaths, RunPaths
from spoteval.shape import Reading
from spoteval.steps import StepResult
from spoteval_agents.shutdown_hook.hook import Hook, Sources
from spoteval_agents.shutdown_hook.target import resolve
from spoteval_agents.shutdown_hook.work import World

WALL = datetime(2026, 12, 1, 2, 58, 11, tzinfo=UTC)
GONE = 2**22 + 1  # above the largest pid there is
CONFIG = """
[host]
role = "guest"
instance = "gpu-1"
[disk]
path = "{root}/durable"
identity = "sentinel"
[provider]
{provider}
notice_window = "{window}"
[store]
url = "file://{root}/store"
{more}
"""


PROVIDERS = {
    "local": 'kind = "local"\ncloud = "{root}/cloud"',
    "command": 'kind = "command"\nnotice_file = "{root}/notice.json"',
    **{kind: f'kind = "{kind}"' for kind in ("aws", "gcp", "azure", "nebius", "runpod")},
}


@dataclass
class Clock:
    """Wall and monotonic time in step; a pause moves both, and somebody else may act in it."""

    at_s: float = 1000.0
    synced: bool = True
    meanwhile: Callable[[], None] | None = None

    def __call__(self) -> Now:
        wall = WALL + timedelta(seconds=self.at_s - 1000.0)
        return Now(wall, self.at_s, "boot-1", self.synced)

    def pause(self, seconds: float) -> None:
        self.at_s += seconds
        if self.meanwhile is not None:
            self.meanwhile()


class AtOnce:
    """A worker that has done everything when `start` returns."""

    def __init__(self) -> None:
        self.said: dict[str, Reading[str]] = {}
        self.started: list[str] = []

    def start(self, name: str, work: Work) -> bool:
        self.started.append(name)
        self.said[name] = work()
        return True

    def busy(self) -> str | None:
        return None

    def take(self, name: str) -> Reading[str] | None:
        return self.said.pop(name, None)


class Heard(DecisionLog):
    """The decision log, whose lines are kept for the test too."""

    def __init__(self, said: list[str]) -> None:
        super().__init__(None)
        self._heard = said

    def write(self, decision: Decision, now: Now) -> str:
        """Log one decision; it is in the journal also where the file takes nothing."""
        self._heard.append(decision.line())
        return super().write(decision, now)


@dataclass
class Units:
    """Members by unit, look by look; what is not scripted is empty."""

    scripts: dict[str, Iterator[Reading[frozenset[int]]]] = field(default_factory=dict)

    def members(self, unit: str) -> Reading[frozenset[int]]:
        return next(self.scripts.get(unit, iter(())), frozenset())


@dataclass
class Guest:
    """Everything a hook stands on, and what was seen of it."""

    root: Path
    window: str = "60s"
    more: str = '[run]\nharness = "directory"\nsettlement = "fresh_budget"'
    provider: str = "local"
    notice: Reading[Notice | None] = None
    stopping: Reading[bool] = True
    rebooting: Reading[bool] = False
    clock: Clock = field(default_factory=Clock)
    units: Units = field(default_factory=Units)
    facts: list[Opened] = field(default_factory=list)
    steps: list[StepResult] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    """The decision lines of the journal."""
    asked: list[list[str]] = field(default_factory=list)
    """What lay in the run's interruptions each time systemd was asked."""

    def __post_init__(self) -> None:
        for name in ("durable/spoteval/runs/swe/work", "run", "store", "cloud"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        (self.root / "durable/.spoteval-disk.json").write_text('{"format": 1, "instance": "gpu-1"}')
        self.durable.active.write_text("swe\n")
        provider = PROVIDERS[self.provider].format(root=self.root)
        text = CONFIG.format(root=self.root, window=self.window, more=self.more, provider=provider)
        (self.root / "config.toml").write_text(text)

    @property
    def durable(self) -> DurablePaths:
        return DurablePaths(self.root / "durable")

    @property
    def run(self) -> RunPaths:
        return self.durable.run("swe")

    @property
    def host(self) -> HostPaths:
        return HostPaths(self.root / "config.toml", self.root / "run")

    @property
    def config(self) -> GuestConfig:
        return read_guest(self.host.config)

    def hook(self, put_fact: Callable[[Opened], str] | None = None) -> Hook:
        """A hook that was just started."""
        world = World(
            instance="gpu-1",
            members=self.units,
            draining=self.host.draining,
            docker=self.root / "docker.sock",
            remove_containers=self.host.remove_containers,
            clock=self.clock,
            pause=self.clock.pause,
            say=self.steps.append,
            put_fact=put_fact or self._put,
            since_ns=0,
        )
        target = resolve(self.config)
        sources = Sources(
            lambda: self.notice, lambda: target, self._stopping, lambda _: self.rebooting
        )
        hook = Hook(self.config, self.host, "5e55", world, sources, Notifier(), Heard(self.said))
        hook.recall(self.clock())
        return hook

    def cycle(self, hook: Hook, terminated: bool = False) -> bool:
        """One cycle now."""
        return hook.cycle(self.clock(), terminated)

    def kinds(self) -> list[str]:
        """The run's events, in order."""
        return [str(record["kind"]) for record in read_lines(self.run.events).records]

    def lines(self, agent: str = "shutdown-hook") -> list[str]:
        """The decision lines that the disk kept."""
        path = self.durable.root / "decisions" / f"{agent}.jsonl"
        return [str(record["line"]) for record in read_lines(path).records]

    def announce(self, in_s: float | None = 60.0, name: str = "n-1") -> None:
        """The provider's notice."""
        deadline = None if in_s is None else self.clock().wall + timedelta(seconds=in_s)
        self.notice = Notice(name, "preemption", deadline, "local")

    def _put(self, opened: Opened) -> str:
        self.facts.append(opened)
        return "on its way"

    def _stopping(self, within_s: float) -> Reading[bool]:
        folder = self.run.interruptions
        self.asked.append(sorted(str(path.relative_to(folder)) for path in folder.rglob("*.json")))
        return self.stopping
