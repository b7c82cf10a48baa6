"""What all rows of the table share: a row, the service on which they are played, and small sums."""

import statistics
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import publication_tools as tools
from bench.publication_guest import prepare
from bench.publication_place import Place
from bench.publication_tools import TOOLS, Spent
from s3_server import Service

NEWS = 20
NO_GOAL = "no goal at this size"
LONG_AGO_S = 3600.0
"""How old the trees are that are laid down."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of ours, the others' beside it, and whether its goal is met; `counts`: as far as it is no time."""

    work: str
    ours: str
    goal: str
    good: bool
    others: Mapping[str, str] = field(default_factory=dict)
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Bench:
    """Where it runs, on what service, and how often."""

    scratch: Path
    service: Service
    metrics: int
    rounds: int

    def requests(self) -> int:
        """How many the service has answered so far, on the bucket."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        ours = (line for line in lines if line.startswith('SeaweedFS_s3_request_total{bucket="e'))
        return int(sum(float(line.rsplit(" ", 1)[1]) for line in ours))

    def tool(self, argv: Sequence[str]) -> Spent:
        """One of the other tools."""
        settle(self.scratch)
        return tools.run(argv, tools.environment(self.service), self.scratch / "tool.log")

    def counted(self, argv: Sequence[str]) -> tuple[Spent, int]:
        """One of the other tools, and how many requests it made."""
        before = self.requests()
        return self.tool(argv), self.requests() - before

    def guest(self, name: str) -> Place:
        """A fresh one."""
        place = Place(self.scratch / name, name)
        prepare(place, self.service)
        return place


def settle(folder: Path) -> None:
    """Wait until everything is on the disk that was written to the file system of this folder."""
    subprocess.run(["sync", "-f", str(folder)], check=True)


def row(work: str, by_name: Mapping[str, float], unit: str, goal: str, good: bool) -> Row:
    """From a figure of each."""
    others = {name: f"{by_name[name]:.1f} {unit}" for name in TOOLS}
    return Row(work, f"{by_name['spoteval']:.1f} {unit}", goal, good, others)


def beside(found: Sequence[tuple[Spent, int]], wall: bool) -> str:
    """CPU, or seconds to the end, and requests of a tool: medians of its rounds."""
    took_s = median(spent.wall_s if wall else spent.cpu_s for spent, _ in found)
    requests = median(count for _, count in found)
    return f"{took_s:.2f} s{'' if wall else ' CPU'}, {requests:.0f} requests"


def median(values: Iterable[float]) -> float:
    """Of some figures."""
    return statistics.median(list(values))


def told(spent: Mapping[str, Spent]) -> str:
    """One round, for people."""
    return " · ".join(
        f"{name} {item.wall_s:.1f}/{item.cpu_s:.1f} s" for name, item in spent.items()
    )


def said(text: str) -> None:
    """Progress."""
    print(f"  {text}", file=sys.stderr, flush=True)
