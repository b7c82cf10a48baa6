"""The market is a pure function of its seed."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace

from show.lines import Line, judged
from show.stage import Stage, output
from spoteval.local.market import (
    NEW,
    EventKind,
    History,
    Market,
    Phase,
    PhaseName,
    answer_to_start,
    coming_event,
    preemptions,
    price,
)
from spoteval.local.weather import weather

# A node that always does the same: what differs between histories is the market's doing.
GOES_ON: dict[PhaseName, tuple[float, PhaseName]] = {
    "running": (2.0, "resuming"),
    "resuming": (6.0, "serving"),
}
SEEDS = range(1, 51)
SERVES_S = 30.0  # undisturbed for so long, the run is over
COMES_TO: dict[EventKind, PhaseName] = {
    "running": "running",
    "no-capacity": "stopped",
    "notice": "noticed",
    "power-button": "stopping",
    "plug": "stopped",
}


def same_seed_same_market(stage: Stage) -> Iterator[Line]:
    """Histories computed here and in another process are equal, and of different seeds different."""
    lives = [lived(seed) for seed in SEEDS]
    roots = [str(stage.root / part) for part in ("common", "tests")]
    argv = [stage.python, "-c", "from show.market_lines import digest; print(digest())"]
    other = output(argv, stage.scratch, PYTHONPATH=os.pathsep.join(roots)).stdout.strip()
    figure = f"{len(SEEDS)} seeds in two processes"
    yield judged(other == digest(), "same seed, same market", figure)
    kinds = len(set(lives))
    counts = [len(preemptions(history)) for history, _ in lives]
    figure = f"{kinds} histories from {len(SEEDS)} seeds, {min(counts)}-{max(counts)} preemptions"
    yield judged(kinds == len(SEEDS), "other seeds, other histories", figure)


def digest() -> str:
    """One number for all histories and prices."""
    lives = [lived(seed) for seed in SEEDS]
    return hashlib.sha256(repr(lives).encode()).hexdigest()


def lived(seed: int) -> tuple[History, tuple[float, ...]]:
    """What the demo's market does to that node: its history, and the price after each phase."""
    market = Market(seed, weather("demo"))
    history, prices = NEW, []
    while (longer := _next(market, history)) is not None:
        history = longer
        prices.append(price(market, history))
    return history, tuple(prices)


def _next(market: Market, history: History) -> History | None:
    phase = history[-1]
    if phase.name in ("stopped", "refused"):
        begins = answer_to_start(market, history).begins
        return _grown(history, 1.0, "starting" if begins else "refused")
    event = coming_event(market, history)
    lasts_s, then = GOES_ON.get(phase.name, (SERVES_S, None))
    if event is not None and event.at_s <= lasts_s:
        taken = event.kind in ("power-button", "plug")
        return _grown(history, event.at_s, COMES_TO[event.kind], "preempted" if taken else None)
    return None if then is None else _grown(history, lasts_s, then)


def _grown(history: History, length_s: float, name: PhaseName, cause: str | None = None) -> History:
    ended = replace(history[-1], length_s=length_s)
    return (*history[:-1], ended, Phase(name, cause=cause))
