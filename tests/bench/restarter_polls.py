"""Polls of many instances, measured in a process of their own."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.faces import drivers, prepare
from spoteval.clock import read_now
from spoteval.config.restarter import read_restarter
from spoteval.loop import Wake
from spoteval.machine.systemd import Notifier
from spoteval.paths import HostPaths
from spoteval_agents.restarter.agent import run, served_by
from spoteval_agents.restarter.crew import Threads
from spoteval_agents.restarter.served import Served

SIZES, POLLS = (10, 100, 1_000), 5
LOOK_S = 0.01


@dataclass
class Rounds:
    """In the place of the waker: waits until all have been served, notes what that took, and has all served again."""

    served: Sequence[Served]
    left: int
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._began()

    def wait(self, timeout_s: float) -> Wake:
        """Some time, or the end of one poll of all."""
        until_s = time.monotonic() + timeout_s
        while any(one.busy_since_s is not None for one in self.served):
            if time.monotonic() >= until_s:
                return Wake("time")
            time.sleep(LOOK_S)
        self.wall_s.append(time.monotonic() - self._wall_s)
        self.cpu_s.append(time.process_time() - self._cpu_s)
        self.left -= 1
        self._began()
        return Wake("file" if self.left else "signal")

    def _began(self) -> None:
        self._wall_s, self._cpu_s = time.monotonic(), time.process_time()


def main(argv: Sequence[str]) -> int:
    """Measure and print."""
    if argv and argv[0] == "--child":
        print(json.dumps(polled(Path(argv[1]))))
        return 0
    sizes = [int(argv[argv.index("--only") + 1])] if "--only" in argv else SIZES
    found = [measured(size) for size in sizes]
    if "--json" in argv:
        print(json.dumps({"polls": found}))
    else:
        show(found)
    return 0


def measured(size: int) -> dict[str, float]:
    """So many instances, polled by a process that has nothing else to do."""
    with tempfile.TemporaryDirectory(prefix="spoteval-bench-") as scratch:
        root = Path(scratch)
        names = [f"gpu-{number}" for number in range(size)]
        prepare(root, names, read_now().wall)
        program = Path(__file__).with_name("restarter")
        with drivers(root, names):
            done = subprocess.run(
                [sys.executable, str(program), "--child", scratch],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                check=True,
            )
    found: dict[str, float] = json.loads(done.stdout)
    return {"instances": size, **found}


def polled(root: Path) -> dict[str, float]:
    """All instances of the host file there, some polls of all."""
    paths = HostPaths(
        config=root / "config.toml",
        state=root / "state",
        run=root / "run",
        credentials=root / "credentials",
    )
    served = served_by(read_restarter(paths.config), paths, read_now)
    rounds = Rounds(served, POLLS + 1)
    run(served, rounds, read_now, Notifier({}), Threads(served))
    running = sum(one.book.state.word == "RUNNING" for one in served)
    if running != len(served):
        raise RuntimeError(f"only {running} of {len(served)} were understood")
    return {
        "wall_s": round(statistics.median(rounds.wall_s[1:]), 4),
        "cpu_s": round(statistics.median(rounds.cpu_s[1:]), 4),
        "rss_mb": round(_peak_kb() / 1024, 1),
        "first_wall_s": round(rounds.wall_s[0], 4),
        "first_cpu_s": round(rounds.cpu_s[0], 4),
    }


def show(found: Sequence[dict[str, float]]) -> None:
    """A table for people."""
    print(
        f"{'instances':>9}{'wall':>10}{'CPU':>10}{'CPU each':>12}{'memory':>11}{'first poll':>14}"
    )
    for one in found:
        each_ms = 1000 * one["cpu_s"] / one["instances"]
        print(
            f"{one['instances']:>9,.0f}{one['wall_s']:>8.2f} s{one['cpu_s']:>8.2f} s"
            f"{each_ms:>9.2f} ms{one['rss_mb']:>8.1f} MB{one['first_wall_s']:>12.2f} s"
        )


def _peak_kb() -> int:
    """The most memory that the process ever had resident."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
