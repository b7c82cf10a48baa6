"""From a history that fails to the fewest faults that still make it fail in the same way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sim.cutting import Points
from sim.fault_plan import PROBABILITIES, Struck
from sim.restarter_sim import Sim
from sim.scene import Scene
from sim.truth import Violated

REPLAYS = 150


@dataclass(frozen=True, slots=True)
class Failed:
    """A history that broke a rule, in `cycles` cycles. `replays`: how many were needed to shrink it."""

    scene: Scene
    number: str
    what: str
    at_s: float
    cycles: int
    faults: tuple[Struck, ...]
    trace: tuple[tuple[float, str, str], ...]
    replays: int = 0

    def text(self) -> str:
        """For people: what broke, what of the faults it takes, and the command that shows it again."""
        kept = ",".join(f"{cycle}:{kind}" for cycle, kind in self.faults)
        after = f"after {self.at_s / 3600:.1f} h and {self.cycles} cycles"
        words = _told(self.trace[-12:])
        return "\n".join(
            [
                f"{self.number} broken: {self.what}, seed {self.scene.seed}, {after}",
                f"  faults that it takes ({len(self.faults)}, {self.replays} replays): {kept or 'none'}",
                f"  last decisions: {words}",
                f"  again: tests/sim/run {self.scene.arguments} --only '{kept}'",
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
        return Failed(scene, number, what, sim.seconds, count, faults, tuple(sim.trace))
    return sim


def shrunk(failed: Failed, again: Play, replays: int = REPLAYS) -> Failed:
    """Leave out faults, in halves, quarters and so on down to single ones, as long as the same rule breaks."""
    best, left = failed, replays
    size = max(1, len(failed.faults) // 2)
    while left > 0:
        best, left, smaller = _pass(best, again, size, left)
        if size == 1 and not smaller:
            break
        size = max(1, size // 2)
    return replace(best, replays=replays - left)


def _pass(best: Failed, again: Play, size: int, left: int) -> tuple[Failed, int, bool]:
    """One pass over all chunks of this size, the last ones kept longest."""
    smaller, start = False, 0
    while start < len(best.faults) and left > 0:
        kept = best.faults[:start] + best.faults[start + size :]
        found = again(replace(best.scene, only=frozenset(kept)))
        left -= 1
        if found is not None and found.number == best.number:
            best, smaller = found, True
        else:
            start += size
    return best, left, smaller


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
