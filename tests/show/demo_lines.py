"""The demo's figures, each judged by itself."""

from collections.abc import Iterator, Mapping

from show.lines import Line, Missing, judged, needs_full
from show.stage import Demo, Stage

LONGEST_S = 300.0
STAGES = ("S2", "S3", "S4", "S5", "S6")


def demo_keys(demo: Demo) -> Iterator[Line]:
    """Exit code and every key that the demo promises."""
    yield judged(demo.code == 0, f"demo seed {demo.seed}: exit code", demo.code)
    if not demo.keys:
        raise Missing(f"--json wrote nothing (log: {demo.log})")
    for name, good in promises(demo.keys).items():
        figure = demo.keys.get(name, "missing")
        yield judged(good, f"demo seed {demo.seed}: {name}", figure)


def promises(keys: Mapping[str, object]) -> dict[str, bool]:
    """Key → whether its value is what must hold. A missing key holds nothing."""
    intended = _count(keys, "episodes_intended")
    return {
        "episodes_intended": intended >= 24,
        "episodes_completed": _count(keys, "episodes_completed") == intended,
        "episodes_lost": _is_zero(keys, "episodes_lost"),
        "finished_episodes_rerun": _is_zero(keys, "finished_episodes_rerun"),
        "attempts": _count(keys, "attempts") >= intended,
        "preemptions": _count(keys, "preemptions") >= 3,
        "capacity_failures": _count(keys, "capacity_failures") >= 1,
        "start_errors_that_ran": _count(keys, "start_errors_that_ran") >= 1,
        "hold_violations": _is_zero(keys, "hold_violations"),
        "pull_verified": keys.get("pull_verified") is True,
        "classes": _sum(keys.get("classes")) == intended,
        "price_range": _is_range(keys.get("price_range")),
        "restart_stages": _has_stages(keys.get("restart_stages")),
        "machine_off": keys.get("machine_off") is True,
        "duration_s": 0 < (_number(keys.get("duration_s")) or 0) <= LONGEST_S,
    }


def seeds(stage: Stage) -> Iterator[Line]:
    """Each seed passes as a whole: five under --full, the first in CI, else none."""
    run = range(1, 6) if stage.full else range(1, 2) if stage.ci else range(0)
    for seed in range(1, 6):
        if seed not in run:
            yield needs_full(f"demo seed {seed}")
            continue
        demo = stage.demo(seed)
        broken = [name for name, good in promises(demo.keys).items() if not good]
        figure = f"{_count(demo.keys, 'preemptions')} preemptions, {demo.keys.get('duration_s')} s"
        good = demo.code == 0 and not broken
        why = f"exit {demo.code}, not held: {', '.join(broken) or 'none'} (log: {demo.log})"
        yield judged(good, f"demo seed {seed}", figure if good else why)


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and isinstance(value, int | float) else None


def _count(keys: Mapping[str, object], name: str) -> int:
    """A count, or -1: so that a missing one equals nothing and exceeds nothing."""
    value = keys.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _is_zero(keys: Mapping[str, object], name: str) -> bool:
    return _count(keys, name) == 0


def _sum(classes: object) -> float:
    numbers = (
        [_number(value) for value in classes.values()] if isinstance(classes, dict) else [None]
    )
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else float("nan")


def _is_range(price: object) -> bool:
    """Low and high, as a pair or as the numbers of an object, above zero."""
    values = list(price.values()) if isinstance(price, dict) else price
    found = [_number(value) for value in values] if isinstance(values, list) else []
    numbers = [number for number in found if number is not None]
    return len(numbers) == 2 and 0 < numbers[0] <= numbers[1]


def _has_stages(stages: object) -> bool:
    """A median in seconds for each of S2 to S6."""
    if not isinstance(stages, dict):
        return False
    found = [_number(stages.get(name)) for name in STAGES]
    return all(number is not None and number >= 0 for number in found)
