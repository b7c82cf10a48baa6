"""Lines that stand on tests/bench/restarter: a thousand instances on one host."""

import json
from collections.abc import Iterator, Mapping

from show.lines import Line, Missing, judged
from show.stage import Stage, output

INSTANCES = 1_000
WALL_S, CPU_S, RSS_MB, FLAT = 5.0, 2.0, 100.0, 1.5


def bench(stage: Stage) -> Iterator[Line]:
    """One poll of all instances, and what one costs among few and among many."""
    program = stage.root / "tests" / "bench" / "restarter"
    if not program.exists():
        raise Missing("tests/bench/restarter does not exist")
    done = output([stage.python, str(program), "--json"], stage.root)
    if not done.stdout.strip():
        raise Missing(
            f"tests/bench/restarter: exit {done.returncode}: {done.stderr.strip()[-200:]}"
        )
    yield from judged_bench(json.loads(done.stdout))


def judged_bench(found: Mapping[str, object]) -> Iterator[Line]:
    """Each figure at its limit or below; one that is absent or zero was not measured."""
    polls = {int(str(one["instances"])): one for one in _tables(found.get("polls"))}
    most = polls.get(INSTANCES, {})
    for name, what, limit, unit in (
        ("wall_s", "wall time of one poll", WALL_S, "s"),
        ("first_wall_s", "wall time of the first poll", WALL_S, "s"),
        ("cpu_s", "CPU time of one poll", CPU_S, "s"),
        ("rss_mb", "memory", RSS_MB, "MB"),
    ):
        value = number(most, name)
        figure = f"{value:.2f} {unit}, at most {limit:g}"
        yield judged(0 < value <= limit, f"{INSTANCES:,} instances: {what}", figure)
    yield flat(polls)


def flat(polls: Mapping[int, Mapping[str, object]]) -> Line:
    """What one instance costs among 10 and among 1,000: CPU time, the same within half."""
    each_ms = {n: number(one, "cpu_s") * 1000 / n for n, one in sorted(polls.items())}
    few, many = each_ms.get(10, 0.0), each_ms.get(INSTANCES, 0.0)
    figure = ", ".join(f"{ms:.2f} ms of {n:,}" for n, ms in each_ms.items()) or "not measured"
    return judged(0 < many <= FLAT * few, "cost per instance is flat from 10 to 1,000", figure)


def number(table: Mapping[str, object], name: str) -> float:
    """0 where it is no number."""
    value = table.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _tables(value: object) -> list[dict[str, object]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
