"""The measurements, and how they are shown."""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.place import Place, Started, made, started

AGENTS = {
    "shutdown-hook": "shutdown_hook",
    "boot-resume": "boot_resume",
    "idle-guard": "idle_guard",
    "end-handler": "end_handler",
}
RSS_KB, PRIVATE_KB, MARKER_MS = 24 * 1024, 12 * 1024, 100.0
FORBIDDEN = ("boto3", "botocore", "requests", "urllib3", "click", "psutil", "http.client", "ssl")
INTERRUPTION_PATH = ("shutdown-hook", "boot-resume")
SETTLED_S, LOOK_EVERY_S, MARKER_LIMIT_S = 4.0, 0.0002, 10.0


@dataclass(frozen=True, slots=True)
class Measured:
    """One agent after some cycles."""

    rss_kb: int
    private_dirty_kb: int
    late: tuple[str, ...]
    forbidden: tuple[str, ...]

    def record(self) -> dict[str, object]:
        """As --json prints it."""
        return {
            "rss_kb": self.rss_kb,
            "private_dirty_kb": self.private_dirty_kb,
            "modules_equal": not self.late,
            "modules_late": list(self.late),
        }


def main(argv: Sequence[str]) -> int:
    """Measure, print; exit 1 where a limit is broken."""
    signals = int(argv[argv.index("--signals") + 1]) if "--signals" in argv else 20
    with tempfile.TemporaryDirectory(prefix="spoteval-bench-") as scratch:
        agents = {name: measured(Path(scratch), module) for name, module in AGENTS.items()}
        markers_ms = [marker_ms(Path(scratch)) for _ in range(signals)]
    forbidden = [
        f"{name}: {module}" for name in INTERRUPTION_PATH for module in agents[name].forbidden
    ]
    median_ms = round(statistics.median(markers_ms), 1)
    if "--json" in argv:
        found = {
            "agents": {name: agent.record() for name, agent in agents.items()},
            "marker_ms_median": median_ms,
            "marker_ms_max": round(max(markers_ms), 1),
            "marker_signals": len(markers_ms),
            "hook_forbidden_modules": forbidden,
        }
        print(json.dumps(found))
    else:
        show(agents, markers_ms, forbidden)
    return int(bool(forbidden) or median_ms > MARKER_MS or any(map(broken, agents.values())))


def measured(scratch: Path, module: str, after_s: float = SETTLED_S) -> Measured:
    """One agent, started on a fresh guest, looked at when it has done its work for a while, and ended as by a
    shutdown: the hook's whole path lies between its READY and its exit."""
    place = fresh(scratch)
    (place.root / "run" / "stopping").touch()
    with started(place, module) as agent:
        time.sleep(after_s)
        rss_kb, private_kb = agent.memory_kb()
    at_exit = agent.modules("exit")
    late = tuple(sorted(at_exit - agent.modules("ready")))
    return Measured(rss_kb, private_kb, late, tuple(name for name in FORBIDDEN if name in at_exit))


def marker_ms(scratch: Path) -> float:
    """From TERM to the moment at which the marker is durable, in milliseconds.

    The first line of steps.jsonl tells of the marker and is written after it was synced, so this errs upwards.
    """
    place = fresh(scratch)
    (place.root / "run" / "stopping").touch()
    with started(place, "shutdown_hook") as agent:
        time.sleep(0.3)
        return waited_ms(place, agent)


def waited_ms(place: Place, agent: Started) -> float:
    """Signal, and wait for the first step's record."""
    folder = place.durable.run("bench").interruptions
    began = time.monotonic()
    agent.process.terminate()
    while not any(folder.glob("*/steps.jsonl")):
        if time.monotonic() - began > MARKER_LIMIT_S:
            raise TimeoutError(f"no marker within {MARKER_LIMIT_S} s")
        time.sleep(LOOK_EVERY_S)
    return 1000 * (time.monotonic() - began)


def fresh(scratch: Path) -> Place:
    """An empty guest. In a directory of its own: a child of the last one's agents may still write there."""
    return made(Path(tempfile.mkdtemp(prefix="guest-", dir=scratch)))


def broken(agent: Measured) -> bool:
    """Whether an agent is larger than allowed, or imports late."""
    too_large = agent.rss_kb > RSS_KB or agent.private_dirty_kb > PRIVATE_KB
    return too_large or bool(agent.late)


def show(agents: dict[str, Measured], markers_ms: list[float], forbidden: list[str]) -> None:
    """A table for people."""
    print(f"{'agent':<16}{'Rss':>10}{'Private_Dirty':>16}  imported after READY")
    for name, agent in agents.items():
        rss, private = agent.rss_kb / 1024, agent.private_dirty_kb / 1024
        late = ", ".join(agent.late) or "nothing"
        print(f"{name:<16}{rss:>7.1f} MB{private:>13.1f} MB  {late}")
    print(f"{'at most':<16}{RSS_KB / 1024:>7.1f} MB{PRIVATE_KB / 1024:>13.1f} MB")
    spread = f"{min(markers_ms):.1f} to {max(markers_ms):.1f}"
    print(
        f"signal to durable marker: median {statistics.median(markers_ms):.1f} ms of "
        f"{len(markers_ms)} ({spread}), at most {MARKER_MS:g}"
    )
    print(f"forbidden modules in {' and '.join(INTERRUPTION_PATH)}: {forbidden or 'none'}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
