"""From a history that fails to the fewest faults that still make it fail in the same way."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from sim.cutting import Points
from sim.fault_plan import PROBABILITIES, Struck
from sim.restarter_sim import Sim
from sim.scene import Scene
from sim.truth import Violated

REPLAYS, WITHIN_S = 150, 60.0
"""How much may be spent on one failure."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A history that broke a rule, in `cycles` cycles and after `preemptions`. `replays`: how many were needed to
    shrink it."""

    scene: Scene
    number: str
    what: str
    at_s: float
    cycles: int
    faults: tuple[Struck, ...]
    trace: tuple[tuple[float, str, str], ...]
    preemptions: int = 0
    replays: int = 0

    @property
    def kind(self) -> str:
        """What broke, whichever hold, second or count it was."""
        return f"{self.number} {re.sub(r'[0-9][-0-9.T]*', '', self.what)}"

    def text(self) -> str:
        """For people: what broke, what of the faults it takes, and the command that shows it again."""
        """Without a single replay all faults are in it, and the seed alone says them shorter."""
        kept = ",".join(f"{cycle}:{kind}" for cycle, kind in self.faults)
        only = f" --only '{kept}'" if self.replays else ""
        after = f"after {self.at_s / 3600:.1f} h and {self.cycles} cycles"
        words = _told(self.trace[-12:])
        return "\n".join(
            [
                f"{self.number} broken: {self.what}, seed {self.scene.seed}, {after}",
                f"  faults in it: {len(self.faults)}, after {self.replays} replays",
                f"  last decisions: {words}",
                f"  again: tests/sim/run {self.scene.arguments}{only}",
            ]
        )


Play = Callable[[Scene], Failed | None]


def play(scene: Scene, root: Path, points: Points, preemptions: int, cycles: int) -> Failed | Sim:
    """One history: what it did, or how it failed."""
    sim = Sim(root, scene, points)
    try:
        sim.run(preemptions, cycles)
    except Violated as error:
        number, _, what = str(error).partition(": ")
        faults = tuple(sim.plan.struck)
        count = sim.figures.cycles + 1
        trace, preempted = tuple(sim.trace), sim.cloud.preempted
        return Failed(scene, number, what, sim.seconds, count, faults, trace, preempted)
    return sim


def shrunk(
    failed: Failed, again: Play, replays: int = REPLAYS, within_s: float = WITHIN_S
) -> Failed:
    """Leave out faults as long as the same rule breaks: whole kinds, then halves, quarters and so on to single ones."""
    budget = _Budget(replays, perf_counter() + within_s)
    best = failed
    for kind in PROBABILITIES:
        kept = [fault for fault in best.faults if fault[1] != kind]
        if budget.left and len(kept) < len(best.faults):
            best = _tried(best, kept, again, budget)
    size, before = max(1, len(best.faults) // 2), -1
    while budget.left and (size > 1 or len(best.faults) != before):
        before = len(best.faults)
        best = _pass(best, again, size, budget)
        size = max(1, size // 2)
    return replace(best, replays=replays - budget.replays)


@dataclass
class _Budget:
    replays: int
    until_s: float

    @property
    def left(self) -> bool:
        return self.replays > 0 and perf_counter() < self.until_s


def _pass(best: Failed, again: Play, size: int, budget: _Budget) -> Failed:
    """One pass over all chunks of this size."""
    start = 0
    while start < len(best.faults) and budget.left:
        found = _tried(best, best.faults[:start] + best.faults[start + size :], again, budget)
        start, best = start + size * (found is best), found
    return best


def _tried(best: Failed, kept: Sequence[Struck], again: Play, budget: _Budget) -> Failed:
    """What fails in the same way with these faults alone, else what is the best so far."""
    budget.replays -= 1
    found = again(replace(best.scene, only=frozenset(kept)))
    return found if found is not None and found.kind == best.kind else best


def faults_in(text: str) -> frozenset[Struck]:
    """The faults of a command line; raises ValueError for what is none."""
    found: list[Struck] = []
    for item in filter(None, text.split(",")):
        cycle, _, kind = item.partition(":")
        if kind not in PROBABILITIES or not cycle.isdigit():
            raise ValueError(f'"{item}": must be CYCLE:KIND, kinds are {", ".join(PROBABILITIES)}')
        found.append((int(cycle), kind))
    return frozenset(found)


def _told(trace: Sequence[tuple[float, str, str]]) -> str:
    return " ".join(f"{at_s:.0f}:{host}:{word}" for at_s, host, word in trace)
