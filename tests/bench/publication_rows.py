"""The rows of the table: what is played for each, and what its goal is."""

import os
import shutil
import statistics
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import publication_tools as tools
from bench.publication_child import plays
from bench.publication_data import lay, lay_links
from bench.publication_guest import Place, prepare
from bench.publication_tools import TOOLS, Spent
from s3_hosts import laptop
from s3_server import Service

NEWS = 20
IDLE_MS: Mapping[int, float] = {1_000: 2.0, 10_000: 2.0, 100_000: 5.0}
SLICE_MS = 50.0
DURABLE_S, REQUESTS_MORE = 0.5, 4
FIRST_CPU_S, RSS_MB, FLAT_MB, PULL_TIMES = 30.0, 65.0, 20.0, 1.5
EPISODES = 10_000


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
        os.sync()
        return tools.run(argv, tools.environment(self.service), self.scratch / "tool.log")

    def guest(self, name: str) -> Place:
        """A fresh one."""
        place = Place(self.scratch / name, name)
        prepare(place, self.service)
        return place


@dataclass(slots=True)
class Published:
    """What the row of the first publication leaves for others: the data, and the run that holds them."""

    size: int
    data: Path
    run: str
    place: Place


def first(bench: Bench, size: int) -> tuple[Published, list[Row]]:
    """Everything at once, by each, so many times in turn."""
    data = bench.scratch / "data"
    laid = lay(data / "episodes", range(size), time.time() - 3600)
    said(f"{laid.episodes} episodes, {laid.files} files, {laid.bytes / 1e6:.0f} MB")
    spent: dict[str, list[Spent]] = {name: [] for name in ("spoteval", *TOOLS)}
    place = bench.guest("first-0")
    for number in range(bench.rounds):
        place = bench.guest(f"first-{number}") if number else place
        shutil.rmtree(place.episodes)
        shutil.copytree(data / "episodes", place.episodes, copy_function=os.link)
        os.sync()
        took, (figures,) = plays(bench.scratch, place, "first")
        if figures["witnessed"] != size:
            raise RuntimeError(f"{figures['witnessed']} of {size} published")
        spent["spoteval"].append(took)
        for tool in TOOLS:
            spent[tool].append(
                bench.tool(tools.upload(tool, bench.service, data, f"{tool}-{number}"))
            )
        said(f"round {number + 1}: " + told({name: found[-1] for name, found in spent.items()}))
    return Published(size, data, place.run, place), _first_rows(size, spent, figures)


def _first_rows(
    size: int, spent: Mapping[str, Sequence[Spent]], figures: Mapping[str, Any]
) -> list[Row]:
    cpu = {name: median(item.cpu_s for item in found) for name, found in spent.items()}
    wall = {name: median(item.wall_s for item in found) for name, found in spent.items()}
    rss = {name: median(item.rss_mb for item in found) for name, found in spent.items()}
    limit_s = FIRST_CPU_S * size / EPISODES
    work = f"first publication of {size:,} episodes"
    best = min(wall[tool] for tool in TOOLS)
    return [
        row(f"{work}: CPU", cpu, "s", f"≤ {limit_s:g} s", cpu["spoteval"] <= limit_s),
        row(f"{work}: wall", wall, "s", "ahead of all three", wall["spoteval"] < best),
        row(f"{work}: memory", rss, "MB", f"≤ {RSS_MB:g} MB", rss["spoteval"] <= RSS_MB),
        Row(f"{work}: requests", f"{figures['requests']}", "all puts", good=True),
    ]


def idle(bench: Bench, published: Published) -> list[Row]:
    """Nothing new: our pass in the resident follower, the others as they are started."""
    before = bench.requests()
    _, (figures,) = plays(bench.scratch, published.place, "idle")
    asked = bench.requests() - before
    others = {}
    for tool in TOOLS:
        argv = tools.upload(tool, bench.service, published.data, f"{tool}-0")
        before = bench.requests()
        cpu_s = median(bench.tool(argv).cpu_s for _ in range(bench.rounds))
        requests = (bench.requests() - before) // bench.rounds
        others[tool] = f"{cpu_s:.2f} s, {requests} requests"
    return [idle_row(published.size, figures, asked, others)]


def idle_row(size: int, figures: Mapping[str, Any], asked: int, others: Mapping[str, str]) -> Row:
    """CPU and requests of a pass without news; `asked` is what the service saw of the whole process."""
    limit_ms = next(limit for most, limit in sorted(IDLE_MS.items()) if size <= most)
    beats = asked - figures["requests"]
    ours = f"{figures['cpu_ms']:.2f} ms CPU, {figures['requests']} requests"
    ours += f" besides {beats} heartbeats" if beats else ""
    if "audit_ms" in figures:
        ours += f" (audit slice {figures['audit_ms']:.1f} ms, at most {SLICE_MS:g})"
    good = figures["requests"] == 0 and beats <= 1 and figures["cpu_ms"] <= limit_ms
    good = good and figures.get("audit_ms", 0.0) <= SLICE_MS
    return Row(
        f"idle pass, {size:,} episodes", ours, f"≤ {limit_ms:g} ms, 0 requests", good, others
    )


def seeded(bench: Bench, size: int) -> tuple[list[Row], float]:
    """A tree of which all is published already: the journal is seeded by passes whose puts are answered unseen."""
    place = bench.guest(f"seeded-{size}")
    shutil.rmtree(place.episodes)
    laid = lay_links(place.episodes, size, time.time() - 3600)
    said(f"{laid.episodes} episodes, {laid.files} files, {laid.bytes / 1e6:.0f} MB, hard links")
    staged = [place.root / f"staged-{number}" for number in range(bench.rounds)]
    for number, folder in enumerate(staged):
        lay(folder, range(size + number * NEWS, size + (number + 1) * NEWS), time.time() - 3600)
    os.sync()
    plays(bench.scratch, place, "seed")
    words = [word for folder in staged for word in ("idle", "news", str(folder))]
    _, found = plays(bench.scratch, place, *words)
    idles = [item for item in found if item["play"] == "idle"]
    news = [item for item in found if item["play"] == "news"]
    quiet = {**idles[0], "cpu_ms": median(item["cpu_ms"] for item in idles)}
    return [idle_row(size, quiet, 0, {}), news_row(size, news)], found[-1]["rss_mb"]


def news_row(size: int, news: Sequence[Mapping[str, Any]]) -> Row:
    """Twenty new ones among many."""
    durable_s = median(item["durable_s"] for item in news)
    needed = [item["files"] + item["episodes"] + REQUESTS_MORE for item in news]
    counts = all(item["episodes"] == NEWS for item in news)
    counts = counts and all(i["requests"] <= most for i, most in zip(news, needed, strict=True))
    ours = f"{news[0]['requests']} requests, durable after {durable_s:.2f} s"
    goal = f"≤ {needed[0]} requests, ≤ {DURABLE_S:g} s"
    good = counts and durable_s <= DURABLE_S
    return Row(f"{NEWS} new episodes among {size:,}", ours, goal, good, counts=counts)


def memory(by_size: Mapping[int, float]) -> Row:
    """Flat in the number of episodes."""
    most, least = max(by_size.values()), min(by_size.values())
    ours = ", ".join(f"{mb:.1f} MB at {size:,}" for size, mb in sorted(by_size.items()))
    good = most <= RSS_MB and most - least <= FLAT_MB
    goal = f"≤ {RSS_MB:g} MB, flat"
    return Row("resident memory of the follower", ours, goal, good, counts=good)


def pulled(bench: Bench, published: Published) -> list[Row]:
    """Pull and verify, against s5cmd sync and sha256sum of all."""
    ours, theirs = list[float](), list[float]()
    env = {**os.environ, **laptop(bench.service, bench.scratch / "laptop", "reader")}
    program = str(Path(sys.executable).parent / "spoteval")
    for number in range(bench.rounds):
        target, other = bench.scratch / f"pulled-{number}", bench.scratch / f"synced-{number}"
        os.sync()
        log = bench.scratch / "pull.log"
        pull = tools.run([program, "pull", published.run, str(target)], env, log)
        verify = tools.run([program, "verify", str(target)], env, log)
        ours.append(pull.wall_s + verify.wall_s)
        sync = bench.tool(tools.download("s5cmd", bench.service, "s5cmd-0", other))
        sums = bench.tool(["sh", "-c", f"find {other} -type f -print0 | xargs -0 sha256sum"])
        theirs.append(sync.wall_s + sums.wall_s)
        said(f"pull {pull.wall_s:.1f} s, verify {verify.wall_s:.1f} s; s5cmd {theirs[-1]:.1f} s")
        for folder in (target, other):
            shutil.rmtree(folder)
    times = median(ours) / median(theirs)
    work = f"pull + verify of {published.size:,} episodes"
    others = {"s5cmd": f"{median(theirs):.1f} s"}
    figure = f"{median(ours):.1f} s, {times:.2f} ×"
    return [Row(work, figure, f"≤ {PULL_TIMES} × s5cmd", times <= PULL_TIMES, others)]


def row(work: str, by_name: Mapping[str, float], unit: str, goal: str, good: bool) -> Row:
    """From a figure of each."""
    others = {name: f"{by_name[name]:.1f} {unit}" for name in TOOLS}
    return Row(work, f"{by_name['spoteval']:.1f} {unit}", goal, good, others)


def median(values: Iterator[float] | Sequence[float]) -> float:
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
