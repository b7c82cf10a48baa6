"""The rows of a tree of which all is published already, up to 100,000 episodes: nothing new, and a little."""

import shutil
import time
from pathlib import Path

from bench import publication_tools as tools
from bench.publication_bench import LONG_AGO_S, NEWS, Bench, Row, beside, median, said, settle
from bench.publication_child import plays
from bench.publication_data import lay, lay_links, move_in
from bench.publication_judge import idle_row, news_row
from bench.publication_tools import TOOLS, Spent

IDLE, NEW = "idle", "news"
SEED_BY = "s5cmd"


def seeded(bench: Bench, size: int) -> tuple[list[Row], float]:
    """Ours, and the resident megabytes: the journal is seeded by passes whose puts are answered unseen."""
    place = bench.guest(f"seeded-{size}")
    shutil.rmtree(place.episodes)
    laid = lay_links(place.episodes, size, time.time() - LONG_AGO_S)
    said(f"{laid.episodes} episodes, {laid.files} files, {laid.bytes / 1e6:.0f} MB, hard links")
    staged = _staged(place.root, size, bench.rounds)
    settle(bench.scratch)
    plays(bench.scratch, place, "seed")
    settle(bench.scratch)
    words = [word for folder in staged for word in (IDLE, NEW, str(folder))]
    _, found = plays(bench.scratch, place, *words)
    shutil.rmtree(place.root)
    idles = [item for item in found if item["play"] == IDLE]
    news = [item for item in found if item["play"] == NEW]
    quiet = {**idles[0], "cpu_ms": median(item["cpu_ms"] for item in idles)}
    return [idle_row(size, quiet, 0, {}), news_row(size, news)], found[-1]["rss_mb"]


def others(bench: Bench, size: int) -> dict[str, dict[str, str]]:
    """The other tools on as large a tree, which one of them has brought into the store: by work and tool.

    They share what is in the store, so each finds the news that is its own.
    """
    above = bench.scratch / f"many-{size}"
    data = above / "episodes"
    lay_links(data, size, time.time() - LONG_AGO_S)
    staged = _staged(above, size, bench.rounds * len(TOOLS))
    target = f"many-{size}"
    seed = bench.tool(tools.upload(SEED_BY, bench.service, data, target))
    said(f"{size:,} episodes brought by {SEED_BY} in {seed.wall_s:.0f} s")
    found: dict[str, dict[str, str]] = {IDLE: {}, NEW: {}}
    for tool in TOOLS:
        argv = tools.upload(tool, bench.service, data, target, shared=True)
        idle, news = list[tuple[Spent, int]](), list[tuple[Spent, int]]()
        for _ in range(bench.rounds):
            idle.append(bench.counted(argv))
            move_in(staged.pop(), data)
            news.append(bench.counted(argv))
        found[IDLE][tool] = beside(idle, wall=False)
        found[NEW][tool] = beside(news, wall=True)
        said(f"{size:,} episodes, {tool}: {found[IDLE][tool]}; news: {found[NEW][tool]}")
    shutil.rmtree(above)
    return found


def _staged(above: Path, size: int, rounds: int) -> list[Path]:
    """Episodes that are to come, so many folders of them, beside the tree."""
    folders = [above / f"staged-{number}" for number in range(rounds)]
    for number, folder in enumerate(folders):
        begin = size + number * NEWS
        lay(folder, range(begin, begin + NEWS), time.time() - LONG_AGO_S)
    return folders
