"""A temporary guest: host file, durable disk with a run, an empty store, and the real command line on PATH."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from spoteval.files import write_record, write_whole
from spoteval.paths import DurablePaths
from spoteval.run import RunPlan, RunRecord

ROOT = Path(__file__).resolve().parent.parent.parent
RUNNER = Path(__file__).with_name("runner.py")
EPISODES = 500
CONFIG = """
[host]
role = "guest"
instance = "gpu-1"
[disk]
path = "{root}/durable"
identity = "sentinel"
[provider]
kind = "local"
cloud = "{root}/cloud"
[store]
url = "file://{root}/store"
[run]
harness = "inspect"
settlement = "fresh_budget"
[idle]
every = "1s"
[publication]
every = "2s"
"""
SPOTEVAL = '#!/bin/sh\nexec "{python}" -c "from spoteval.cli import main; main()" "$@"\n'


@dataclass(frozen=True, slots=True)
class Place:
    """Where the agents of one measurement run."""

    root: Path

    @property
    def durable(self) -> DurablePaths:
        """The durable disk."""
        return DurablePaths(self.root / "durable")

    @property
    def environment(self) -> dict[str, str]:
        """What systemd would set, and the local mark of the unit."""
        roots = os.pathsep.join(str(ROOT / part) for part in ("common", "agents"))
        return {
            "PATH": f"{self.root / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": roots,
            "SPOTEVAL_CONFIG": str(self.root / "config.toml"),
            "RUNTIME_DIRECTORY": str(self.root / "run"),
            "STATE_DIRECTORY": str(self.root / "state"),
            "CREDENTIALS_DIRECTORY": str(self.root / "credentials"),
            "SPOTEVAL_UNIT": f"{self.root}:bench.service",
        }


def made(root: Path) -> Place:
    """Everything that an agent finds on a guest with a run of some hundred episodes, none of which is finished."""
    place = Place(root)
    for name in ("durable", "cloud", "store", "run", "state", "credentials", "bin"):
        (root / name).mkdir()
    write_whole(root / "config.toml", CONFIG.format(root=root).encode())
    write_whole(root / "bin" / "spoteval", SPOTEVAL.format(python=sys.executable).encode(), 0o755)
    write_record(place.durable.sentinel, {"instance": "gpu-1"})
    write_whole(place.durable.active, b"bench\n")
    run = place.durable.run("bench")
    plan = RunPlan("inspect", "fresh_budget")
    record = RunRecord("bench", "gpu-1", 1, datetime(2026, 12, 1, tzinfo=UTC), plan)
    write_record(run.record, record.record())
    write_record(run.intended, {"episodes": [f"task/{n}/1" for n in range(EPISODES)]})
    run.work.mkdir()
    return place


@dataclass(frozen=True, slots=True)
class Started:
    """One living agent that has said READY=1."""

    process: "subprocess.Popen[bytes]"
    kept: Path

    def memory_kb(self) -> tuple[int, int]:
        """Rss and Private_Dirty, in kB, as smaps_rollup says."""
        rollup = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        fields = dict(line.split()[:2] for line in rollup.splitlines()[1:])
        return int(fields["Rss:"]), int(fields["Private_Dirty:"])

    def modules(self, when: str) -> frozenset[str]:
        """The modules that were loaded at `ready` or at `exit`."""
        return frozenset((self.kept / when).read_text().split("\n"))


@contextmanager
def started(place: Place, agent: str) -> Iterator[Started]:
    """Start an agent by its module's name and wait for READY=1; at the end it is terminated and waited for."""
    kept = place.root / f"modules-{agent}"
    kept.mkdir(exist_ok=True)
    with _manager() as (manager, notify):
        argv = [sys.executable, str(RUNNER), agent, str(kept)]
        journal = (place.root / f"{agent}.log").open("ab")
        environment = place.environment | {"NOTIFY_SOCKET": notify}
        process = subprocess.Popen(argv, env=environment, stderr=journal)
        try:
            while b"READY=1" not in manager.recv(4096):
                pass
            yield Started(process, kept)
        finally:
            process.terminate()
            process.wait(60)
            journal.close()


@contextmanager
def _manager() -> Iterator[tuple[socket.socket, str]]:
    """A socket to be notified at, and its path: short, as the kernel takes 107 bytes and a guest may lie deep."""
    with (
        tempfile.TemporaryDirectory(prefix="notify-", dir="/tmp") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager,
    ):
        path = str(Path(folder) / "socket")
        manager.bind(path)
        manager.settimeout(60)
        yield manager, path
