"""What a figure of the follower is held to: passes without news and with a little, memory."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.publication_bench import NEWS, Row, median

IDLE_MS: Mapping[int, float] = {10_000: 2.0, 100_000: 5.0}
"""CPU of an idle pass, by the number of episodes up to which it holds."""
SLICE_MS = 50.0
DURABLE_S, REQUESTS_MORE = 0.5, 4
RSS_MB, FLAT_MB = 65.0, 20.0


def idle_row(size: int, figures: Mapping[str, Any], asked: int, others: Mapping[str, str]) -> Row:
    """CPU and requests of a pass without news; `asked` is what the service saw of the whole process."""
    limit_ms = next(limit for most, limit in sorted(IDLE_MS.items()) if size <= most)
    beats = max(0, asked - figures["requests"])
    ours = f"{figures['cpu_ms']:.2f} ms CPU, {figures['requests']} requests"
    ours += f" besides {beats} heartbeats" if beats else ""
    if "audit_ms" in figures:
        ours += f" (audit slice {figures['audit_ms']:.1f} ms, at most {SLICE_MS:g})"
    counts = figures["requests"] == 0 and beats <= 1
    good = counts and figures["cpu_ms"] <= limit_ms and figures.get("audit_ms", 0.0) <= SLICE_MS
    work = f"idle pass, {size:,} episodes"
    return Row(work, ours, f"≤ {limit_ms:g} ms, 0 requests", good, others, counts)


def news_row(
    size: int, news: Sequence[Mapping[str, Any]], others: Mapping[str, str] | None = None
) -> Row:
    """A few new ones among many."""
    durable_s = median(item["durable_s"] for item in news)
    needed = [item["files"] + item["episodes"] + REQUESTS_MORE for item in news]
    counts = all(item["episodes"] == NEWS for item in news)
    counts = counts and all(i["requests"] <= most for i, most in zip(news, needed, strict=True))
    ours = f"{news[0]['requests']} requests, durable after {durable_s:.2f} s"
    goal = f"≤ {needed[0]} requests, ≤ {DURABLE_S:g} s"
    good = counts and durable_s <= DURABLE_S
    return Row(f"{NEWS} new episodes among {size:,}", ours, goal, good, others or {}, counts)


def memory_row(by_size: Mapping[int, float]) -> Row:
    """Flat in the number of episodes."""
    most, least = max(by_size.values()), min(by_size.values())
    ours = ", ".join(f"{mb:.1f} MB at {size:,}" for size, mb in sorted(by_size.items()))
    good = most <= RSS_MB and most - least <= FLAT_MB
    goal = f"≤ {RSS_MB:g} MB, at most {FLAT_MB:g} MB more"
    return Row("resident memory of the follower", ours, goal, good, counts=good)
