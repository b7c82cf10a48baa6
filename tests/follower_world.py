"""A guest in a temporary directory, for tests of the publication follower: real files, real store, no process."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from put_only import PutOnly
from spoteval.clock import Now
from spoteval.config.guest import GuestConfig, read_guest
from spoteval.control.disk import adopt
from spoteval.control.epochs import Claimant, claim
from spoteval.files import append_line, read_lines, write_new_record
from spoteval.harness.contract import Harness, Survey
from spoteval.harness.directory import Directory
from spoteval.harness.parts import read_part
from spoteval.harness.registry import adapter
from spoteval.paths import DurablePaths, RunPaths
from spoteval.run import RunPlan, RunRecord
from spoteval.store.contract import Put, Store, Stored, StoreError
from spoteval.store.file import FileStore
from spoteval_agents.publication_follower.job import World
from spoteval_agents.publication_follower.memory import Memory

START = datetime(2026, 12, 1, 2, 0, tzinfo=UTC)
RUN = "r1"
CONFIG = """
[host]
role = "guest"
instance = "gpu-1"
[disk]
path = "{disk}"
identity = "sentinel"
[provider]
kind = "local"
[store]
url = "file://{store}"
[publication]
every = "2s"
state_every = "0s"
"""


@dataclass
class Clock:
    """A clock that stands until it is moved."""

    passed_s: float = 100_000.0
    boot: str = "boot-1"

    def __call__(self) -> Now:
        """The present moment."""
        return Now(START + timedelta(seconds=self.passed_s), self.passed_s, self.boot)


@dataclass
class Flaky:
    """A store that can be away, refuse keys, and counts what it is asked; puts are kept by key."""

    inner: FileStore
    away: bool = False
    refused: tuple[str, ...] = ()
    lost_answers: bool = False
    asked: list[str] = field(default_factory=list)

    url: str = field(init=False)

    def __post_init__(self) -> None:
        """It passes for the inner store."""
        self.url = self.inner.url

    def put(self, key: str, data: bytes) -> Put:
        """Create, or fail as told; with `lost_answers` the object is created and the answer is an error."""
        self._ask(key)
        answer = self.inner.put(key, data)
        if self.lost_answers:
            raise StoreError(f"{key}: timeout after it was sent")
        return answer

    def put_file(self, key: str, path: Path) -> Put:
        """As `put`."""
        return self.put(key, path.read_bytes())

    def get(self, key: str) -> bytes:
        """From the inner store."""
        self._ask(key)
        return self.inner.get(key)

    def list(self, prefix: str) -> Iterator[Stored]:
        """From the inner store."""
        self._ask(prefix)
        return self.inner.list(prefix)

    def _ask(self, key: str) -> None:
        self.asked.append(key)
        if self.away:
            raise StoreError("store: timeout")
        if any(word in key for word in self.refused):
            raise StoreError(f"{key}: File name too long")


@dataclass(frozen=True)
class Fixed:
    """The directory adapter, with a survey that a test may amend."""

    amend: dict[str, object] = field(default_factory=dict)
    inner: Directory = field(default_factory=Directory)

    def survey(self, run: RunRecord, work: Path) -> Survey:
        """What lies in the files, amended."""
        return replace(self.inner.survey(run, work), **self.amend)  # type: ignore[arg-type]


@dataclass
class Guest:
    """One guest with an active run of the directory harness."""

    root: Path
    clock: Clock = field(default_factory=Clock)
    session: str = "s1"
    amend: dict[str, object] = field(default_factory=dict)
    harness: str = "directory"

    def __post_init__(self) -> None:
        """Disk with sentinel, store, run record, active run, claimed epoch."""
        (self.root / "store").mkdir(parents=True, exist_ok=True)
        config = self.root / "config.toml"
        config.write_text(CONFIG.format(disk=self.root / "disk", store=self.root / "store"))
        self.config: GuestConfig = read_guest(config)
        adopt(self.config, START)
        self.store = Flaky(FileStore(self.root / "store"))
        plan = RunPlan(self.harness, "fresh_budget", executable="/bin/true", expected=4)
        self.record = RunRecord(RUN, "gpu-1", 1, START, plan)
        self.memory = Memory()
        if write_new_record(self.paths.record, self.record.record()):
            self.disk.active.write_text(RUN)
            self.log("events.jsonl", {"kind": "booted", "session": self.session})
        self.claim()

    @property
    def disk(self) -> DurablePaths:
        """The durable disk."""
        return DurablePaths(self.root / "disk")

    @property
    def paths(self) -> RunPaths:
        """The run's directory."""
        return self.disk.run(RUN)

    @property
    def world(self) -> World:
        """What the follower sees: of its store, what a key is granted that may put."""
        return World(self.config, self.granted, self.session, self.clock, self.adapter, read_part)

    @property
    def granted(self) -> Store:
        """The store without get and list. That of a bucket is left alone: its service refuses them to this key."""
        return PutOnly(is_store(self.store)) if isinstance(self.store, Flaky) else self.store

    def adapter(self, name: str) -> Harness:
        """The directory adapter, which a test may amend, or the real one of another harness."""
        if name == "directory":
            # Not amended, it is looked at as the agent does: only what is news.
            return Fixed(self.amend) if self.amend else Directory()  # type: ignore[return-value]
        return adapter(name)

    def claim(self) -> int:
        """Claim an epoch for the present session."""
        who = Claimant(RUN, "gpu-1", self.session)
        return claim(self.store.inner, self.paths, who, self.clock())

    def reboot(self, session: str) -> None:
        """Another life: memory is gone, the disk stays."""
        self.session, self.clock.boot = session, f"boot-of-{session}"
        self.memory = Memory()
        self.claim()

    def restart(self) -> None:
        """The follower alone begins anew."""
        self.memory = Memory()

    def finish(self, episode: str, files: dict[str, bytes] | None = None) -> None:
        """An episode that ended: its files, the last one written last."""
        folder = self.paths.work / "episodes" / episode
        for name, data in (files or {"log.txt": f"log of {episode}\n".encode()}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        (folder / "episode.json").write_text(json.dumps({"verdict": "C"}))

    def log(self, name: str, record: dict[str, object]) -> None:
        """Append to one of the run's logs."""
        append_line(self.paths.root / name, record)

    def later(self, seconds: float = 2.0) -> None:
        """Time passes."""
        self.clock.passed_s += seconds

    def keys(self, below: str = "") -> list[str]:
        """The keys of the run, from `runs/<run>/` on."""
        prefix = f"runs/{RUN}/"
        return [item.key.removeprefix(prefix) for item in self.store.inner.list(prefix + below)]

    def has(self, key: str) -> bool:
        """Whether the run has the object."""
        return key in self.keys()

    def witness(self) -> list[dict[str, object]]:
        """The lines of finished.jsonl."""
        return list(read_lines(self.paths.finished).records)

    def asked(self) -> list[str]:
        """What the store was asked since the last call, heartbeats apart."""
        found = [key for key in self.store.asked if "/heartbeat/" not in key]
        self.store.asked.clear()
        return found


def is_store(store: Flaky) -> Store:
    """The type checker's word that the fake keeps the contract."""
    return store
