"""Lines that stand on tests/bench/clouds: many instances in one poll, and a notice on its way to the disk."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from show.lines import Line, Missing, judged, needs_full
from show.stage import Stage, output

WALL_S, CPU_S, RSS_MB = 5.0, 2.0, 100.0
MARKER_S: Mapping[str, float] = {"aws": 2.5, "gcp": 0.5, "azure": 1.5}


def polls(stage: Stage) -> Iterator[Line]:
    """One poll of 1,000 instances over three fakes."""
    found = _bench(stage, "poll")
    for name, what, limit, unit in (
        ("wall_s", "wall time", WALL_S, "s"),
        ("cpu_s", "CPU time", CPU_S, "s"),
        ("rss_mb", "memory", RSS_MB, "MB"),
    ):
        value = float(found.get(name, 0.0))
        line = f"poll of {found.get('instances', 0):,} instances over three fakes: {what}"
        figure = f"{value:.2f} {unit}, at most {limit:g}; {found.get('requests', 0)} requests"
        yield judged(0 < value <= limit, line, figure)


def polls_s3(stage: Stage) -> Iterator[Line]:
    """The same over S3, without a goal: most of its time is the service's."""
    what = "poll of 1,000 instances over three fakes with the store in S3"
    if not stage.full:
        yield needs_full(what)
        return
    stage.program("weed")
    found = _bench(stage, "poll-s3")
    wall_s, cpu_s, rss_mb = (float(found.get(name, 0.0)) for name in ("wall_s", "cpu_s", "rss_mb"))
    figure = f"{wall_s:.2f} s, {cpu_s:.2f} s of CPU, {rss_mb:.1f} MB; no goal"
    yield judged(min(wall_s, cpu_s, rss_mb) > 0, what, figure)


def marker(stage: Stage) -> Iterator[Line]:
    """From the moment at which the fake announces a stop to the marker on the disk."""
    found = _bench(stage, "marker")
    for cloud, limit_s in MARKER_S.items():
        one = found.get(cloud, {})
        value = float(one.get("p99_s", 0.0))
        figure = f"p99 {value:.2f} s of {one.get('count', 0)}, at most {limit_s:g}"
        yield judged(0 < value <= limit_s, f"marker after a notice on {cloud}", figure)


def _bench(stage: Stage, what: str) -> dict[str, Any]:
    program = stage.root / "tests" / "bench" / "clouds"
    if not program.exists():
        raise Missing("tests/bench/clouds does not exist")
    done = output([stage.python, str(program), what, "--json"], stage.root)
    if not done.stdout.strip():
        raise Missing(f"tests/bench/clouds: exit {done.returncode}: {done.stderr.strip()[-200:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
