"""What a world has on record: read from this host, also while its machines are off."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from drills.seen import Witnessed, witnessed
from lab.nspawn import Nspawn, until
from lab.world import RUN, World
from spoteval.control.runfiles import interruptions, progress
from spoteval.files import read_lines
from spoteval.interruption import Interruption
from spoteval.paths import DurablePaths, RunPaths
from spoteval.shape import Unreadable


def paths(world: World) -> DurablePaths:
    """The durable disk."""
    return DurablePaths(world.disk.point)


def run_paths(world: World) -> RunPaths:
    """The run on it."""
    return paths(world).run(RUN)


def witness(world: World) -> Witnessed:
    """What the episodes say of themselves."""
    return witnessed(world.disk.point / "evals" / "witness")


def finished(world: World) -> list[str]:
    """Episodes in the order of their lines in the witness file of the publication."""
    return [str(line["episode"]) for line in read_lines(run_paths(world).finished).records]


def complete(world: World) -> bool:
    """Whether every intended episode is finished."""
    found = progress(run_paths(world))
    return not isinstance(found, Unreadable) and found.complete


def counted(world: World) -> list[Interruption]:
    """The interruptions of the run, in their order; stops that were none are left out."""
    every = interruptions(run_paths(world))
    return [item for _, item in sorted(every.items()) if item.counts]


def starts(world: World) -> int:
    """How often the run was started, by the events of the run."""
    return sum(e.get("kind") == "run-started" for e in read_lines(run_paths(world).events).records)


def steps(world: World, name: str) -> list[Mapping[str, object]]:
    """The steps of one interruption, as its marker has them."""
    return list(read_lines(run_paths(world).interruptions / name / "steps.jsonl").records)


def some_ended(world: World, number: int, within_s: float = 240.0) -> float:
    """Wait until so many episodes have ended; and others run."""

    def there() -> bool:
        seen = witness(world)
        return len(seen.ended) >= number and bool(seen.in_flight)

    return until(there, within_s, f"{number} episodes to end", lambda: last(world.guest))


def last(machine: Nspawn) -> str:
    """The last words of the agents of a machine."""
    return machine.journal("-u", "spoteval-*", "-n", "4", "-o", "cat")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a journal."""

    at: datetime
    unit: str
    text: str


def entries(machine: Nspawn, since: datetime | None = None, unit: str = "") -> list[Entry]:
    """The journal of a machine in its order; what PID 1 says of a unit stands under that unit."""
    words = ["-o", "json"]
    words += [f"--since=@{since.timestamp():.6f}"] if since is not None else []
    found = [_entry(json.loads(line)) for line in machine.journal(*words).splitlines()]
    return [entry for entry in found if not unit or entry.unit == unit]


def lines(machine: Nspawn, unit: str, word: str, since: datetime | None = None) -> list[Entry]:
    """Lines of a unit that hold this word."""
    return [entry for entry in entries(machine, since, unit) if word in entry.text]


def _entry(record: Mapping[str, object]) -> Entry:
    at = datetime.fromtimestamp(int(str(record["__REALTIME_TIMESTAMP"])) / 1e6, UTC)
    unit = record.get("UNIT") or record.get("_SYSTEMD_UNIT") or ""
    return Entry(at, str(unit), str(record.get("MESSAGE", "")))


def now() -> datetime:
    """This moment, by the clock that all machines of the lab share."""
    return datetime.now(UTC)
