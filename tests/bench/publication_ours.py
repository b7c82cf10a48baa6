"""The follower's own passes, in a process of its own: publication_ours.py ROOT RUN PLAY... prints figures as JSON.

    seed        publish everything into a store that only answers, so that the journal knows it as published
    first       publish everything, until nothing is left
    idle        regular passes that find nothing
    news DIR    move the episodes of DIR into the tree, then one pass

The world is the agent's own (`world_of`), so are its passes (`cycle`); only the waiting between them is left out.
"""

import contextlib
import io
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.publication_data import move_in
from bench.publication_place import Place
from spoteval.clock import read_now
from spoteval.files import lines_of
from spoteval.store.contract import Put, Store, Stored
from spoteval_agents.publication_follower.agent import world_of
from spoteval_agents.publication_follower.auditing import audit
from spoteval_agents.publication_follower.cycle import cycle
from spoteval_agents.publication_follower.job import World
from spoteval_agents.publication_follower.memory import Memory

IDLE_PASSES, MOST_PASSES = 9, 100_000
REST_S = 2.5
"""A tree that was written to just now is looked at again: mtimes are that coarse."""


@dataclass(frozen=True, slots=True)
class Passed:
    """One pass: seconds of wall and CPU, and the figures of its line."""

    wall_s: float
    cpu_s: float
    episodes: int
    requests: int
    audit_ms: int | None = None


class Answering:
    """A store that says of every put that it was done, in as many lanes; all else goes to the real one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.url = store.url
        self.lanes = getattr(store, "lanes", 1)

    def until(self, *_: object) -> "Answering":
        """It never lasts."""
        return self

    def put(self, key: str, data: bytes) -> Put:
        """Nothing."""
        return Put.CREATED

    def put_file(self, key: str, path: Path) -> Put:
        """Nothing."""
        return Put.CREATED

    def get(self, key: str) -> bytes:
        """From the real one."""
        return self._store.get(key)

    def list(self, prefix: str) -> Iterator[Stored]:
        """From the real one."""
        return self._store.list(prefix)


def main(argv: Sequence[str]) -> None:
    """Play, print: one object a play, in order."""
    place, words = Place(Path(argv[0]), argv[1]), list(argv[2:])
    world = world_of(place.config, place.host, read_now, lambda: False)
    memory, found = Memory(), list[dict[str, object]]()
    while words:
        word = words.pop(0)
        if word == "seed":
            figures = seed(world, memory)
        elif word == "first":
            figures = summed(list(until_rest(world, memory)))
        elif word == "idle":
            figures = idle(world, memory)
        elif word == "news":
            figures = news(world, memory, Path(words.pop(0)), place)
        else:
            raise SystemExit(f"{word}: not a play")
        witnessed = witnessed_in(place)
        found.append({"play": word, **figures, "rss_mb": rss_mb(), "witnessed": witnessed})
    print(json.dumps(found))


def seed(world: World, memory: Memory) -> dict[str, float]:
    """Nothing of it is measured; whoever asked for it syncs the disk once it is over, instead of every write here."""
    real = os.fsync
    os.fsync = lambda fd: None
    try:
        return summed(list(until_rest(replace(world, store=Answering(world.store)), memory)))
    finally:
        os.fsync = real


def until_rest(world: World, memory: Memory) -> Iterator[Passed]:
    """Passes until one finds nothing to do."""
    for _ in range(MOST_PASSES):
        passed = one(world, memory)
        yield passed
        if not passed.requests and memory.due_s > world.clock().mono_s:
            return
    raise SystemExit("never at rest")


def idle(world: World, memory: Memory) -> dict[str, float]:
    """Medians of regular passes over a tree at rest."""
    time.sleep(REST_S)
    for _ in until_rest(world, memory):
        pass
    passes = [one(world, memory) for _ in range(IDLE_PASSES)]
    slices = [item.audit_ms for item in passes if item.audit_ms is not None]
    return {
        **({"audit_ms": max(slices)} if slices else {}),
        "cpu_ms": round(1000 * statistics.median(item.cpu_s for item in passes), 3),
        "most_cpu_ms": round(1000 * max(item.cpu_s for item in passes), 3),
        "wall_ms": round(1000 * statistics.median(item.wall_s for item in passes), 3),
        "requests": sum(item.requests for item in passes),
        "passes": len(passes),
    }


def news(world: World, memory: Memory, staged: Path, place: Place) -> dict[str, float]:
    """One pass, until it returns: then the last put was acknowledged."""
    before = witnessed_in(place)
    files = move_in(staged, place.episodes)
    passed = one(world, memory)
    came = witnessed_in(place) - before
    return {
        "episodes": came,
        "files": files,
        "requests": passed.requests,
        "durable_s": round(passed.wall_s, 3),
        "cpu_s": round(passed.cpu_s, 3),
    }


def witnessed_in(place: Place) -> int:
    """Lines of the witness, one at a time in memory: what is measured here is the follower's."""
    return sum(1 for _ in lines_of(place.paths.finished))


def summed(passes: Sequence[Passed]) -> dict[str, float]:
    """Passes as one."""
    return {
        "wall_s": round(sum(item.wall_s for item in passes), 3),
        "cpu_s": round(sum(item.cpu_s for item in passes), 3),
        "requests": sum(item.requests for item in passes),
        "episodes": sum(item.episodes for item in passes),
        "passes": len(passes),
    }


def one(world: World, memory: Memory) -> Passed:
    """A regular pass, due now, and the slice of the audit that comes after each; it is no part of the pass."""
    memory.due_s = 0.0
    said, (wall_s, cpu_s) = heard(lambda: cycle(world, memory))
    heard(lambda: audit(world, memory))
    audit_ms = None if memory.audit is None else math.ceil(memory.audit.longest_s * 1000)
    return Passed(wall_s, cpu_s, _figure(said, "episodes"), _figure(said, "requests"), audit_ms)


def heard(act: Callable[[], None]) -> tuple[str, tuple[float, float]]:
    """What was said, and seconds of wall and CPU."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        act()
        spent = time.perf_counter() - wall_s, time.process_time() - cpu_s
    return out.getvalue(), spent


def rss_mb() -> float:
    """Resident now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024, 1)


def _figure(said: str, name: str) -> int:
    words = (word.partition("=") for line in said.splitlines() for word in line.split())
    return sum(int(value) for key, _, value in words if key == name and value.isdigit())


if __name__ == "__main__":
    main(sys.argv[1:])
