"""The rows that begin with a first publication: everything at once, nothing new, all of it back, and a little new."""

import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import publication_tools as tools
from bench.publication_bench import (
    LONG_AGO_S,
    NEWS,
    NO_GOAL,
    Bench,
    Row,
    beside,
    median,
    row,
    said,
    settle,
    told,
)
from bench.publication_child import plays
from bench.publication_data import lay, move_in
from bench.publication_judge import idle_row, news_row
from bench.publication_place import Place
from bench.publication_tools import TOOLS, Spent
from s3_hosts import laptop

FIRST_CPU_S, RSS_MB, PULL_TIMES = 30.0, 65.0, 1.5
EPISODES = 10_000
"""What the goal of CPU is for: of fewer, the start of the process is too large a part."""


@dataclass(slots=True)
class Published:
    """What the row of the first publication leaves for others: the data, and the run that holds them."""

    size: int
    data: Path
    run: str
    place: Place


def first(bench: Bench, size: int, rounds: int) -> tuple[Published, list[Row]]:
    """Everything at once, by each, so many times in turn."""
    data = bench.scratch / "data"
    laid = lay(data / "episodes", range(size), time.time() - LONG_AGO_S)
    said(f"{laid.episodes} episodes, {laid.files} files, {laid.bytes / 1e6:.0f} MB")
    spent: dict[str, list[Spent]] = {name: [] for name in ("spoteval", *TOOLS)}
    for number in range(rounds):
        place, took, figures = _ours(bench, data, number, size)
        spent["spoteval"].append(took)
        for tool in TOOLS:
            argv = tools.upload(tool, bench.service, data, f"{tool}-{number}")
            spent[tool].append(bench.tool(argv))
        said(f"round {number + 1}: " + told({name: found[-1] for name, found in spent.items()}))
    return Published(size, data, place.run, place), _first_rows(size, spent, figures)


def _ours(
    bench: Bench, data: Path, number: int, size: int
) -> tuple[Place, Spent, Mapping[str, Any]]:
    place = bench.guest(f"first-{number}")
    shutil.rmtree(place.episodes)
    shutil.copytree(data / "episodes", place.episodes, copy_function=os.link)
    settle(bench.scratch)
    took, (figures,) = plays(bench.scratch, place, "first")
    if figures["witnessed"] != size:
        raise RuntimeError(f"{figures['witnessed']} of {size} published")
    return place, took, figures


def _first_rows(
    size: int, spent: Mapping[str, Sequence[Spent]], figures: Mapping[str, Any]
) -> list[Row]:
    cpu = {name: median(item.cpu_s for item in found) for name, found in spent.items()}
    wall = {name: median(item.wall_s for item in found) for name, found in spent.items()}
    rss = {name: median(item.rss_mb for item in found) for name, found in spent.items()}
    goal = f"≤ {FIRST_CPU_S:g} s" if size == EPISODES else NO_GOAL
    in_time = size != EPISODES or cpu["spoteval"] <= FIRST_CPU_S
    work = f"first publication of {size:,} episodes"
    best = min(wall[tool] for tool in TOOLS)
    return [
        row(f"{work}: CPU", cpu, "s", goal, in_time),
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
        found = [bench.counted(argv) for _ in range(bench.rounds)]
        others[tool] = beside(found, wall=False)
    return [idle_row(published.size, figures, asked, others)]


def news(bench: Bench, published: Published) -> list[Row]:
    """A little new among what is published: the same episodes to each, in as many rounds."""
    others: dict[str, list[tuple[Spent, int]]] = {tool: [] for tool in TOOLS}
    words = list[str]()
    for number in range(bench.rounds):
        begin = published.size + number * NEWS
        for above in (published.place.root, published.data.parent):
            folder = above / f"news-{number}"
            lay(folder, range(begin, begin + NEWS), time.time() - LONG_AGO_S)
        words += ["news", str(published.place.root / f"news-{number}")]
    _, found = plays(bench.scratch, published.place, *words)
    for number in range(bench.rounds):
        move_in(published.data.parent / f"news-{number}", published.data / "episodes")
        for tool, spent in others.items():
            argv = tools.upload(tool, bench.service, published.data, f"{tool}-0")
            spent.append(bench.counted(argv))
    sides = {tool: beside(spent, wall=True) for tool, spent in others.items()}
    return [news_row(published.size, found, sides)]


def pulled(bench: Bench, published: Published) -> list[Row]:
    """Pull and verify, against s5cmd sync and sha256sum of all."""
    ours, theirs = list[float](), list[float]()
    env = {**os.environ, **laptop(bench.service, bench.scratch / "laptop", "reader")}
    program = str(Path(sys.executable).parent / "spoteval")
    for number in range(bench.rounds):
        target, other = bench.scratch / f"pulled-{number}", bench.scratch / f"synced-{number}"
        settle(bench.scratch)
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
