"""A synthetic month of 50 machines, one million events: what tau, restarts and cost take for it.

python -m bench.month DIR     (from tests/) writes the logs below DIR and prints one line a command
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from spoteval.clock import stamp

ROOT = Path(__file__).resolve().parent.parent.parent
MACHINES, EVENTS, DAYS = 50, 20_000, 30
BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
VERBS = ("tau", "restarts", "cost")


@dataclass(frozen=True, slots=True)
class Took:
    """Of one command: its exit code, seconds of CPU and of the wall, and its greatest memory."""

    verb: str
    code: int
    cpu_s: float
    wall_s: float
    peak_mb: float

    def line(self) -> str:
        """For people."""
        return f"{self.verb}: {self.cpu_s:.1f} s of CPU, {self.wall_s:.1f} s, {self.peak_mb:.0f} MB"


def write_month(place: Path) -> int:
    """One log a machine, as the restarter and the guest write them; returns the number of events."""
    for number in range(MACHINES):
        folder = place / f"gpu-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        random = Random(number)
        with (folder / "events.jsonl").open("w") as file:
            file.writelines(json.dumps(one) + "\n" for one in _machine(f"gpu-{number}", random))
    return MACHINES * EVENTS


def _machine(name: str, random: Random) -> Iterator[dict[str, object]]:
    """Lives of Weibull shape 0.5, mean 2 h; between the events that count, prices and episodes fill the log."""
    left, at_s = EVENTS, 0.0
    while left > 0:
        life_s = 3600.0 * random.weibullvariate(1.0, 0.5)
        for offset_s, kind, source, more in _life(life_s, random):
            if left <= 0:
                return
            yield _event(at_s + offset_s, kind, source, name, more)
            left -= 1
        at_s += life_s + 600 + random.expovariate(1 / 1800)


def _life(life_s: float, random: Random) -> Iterator[tuple[float, str, str, dict[str, object]]]:
    price = {"amount": round(random.uniform(10, 14), 2), "currency": "USD", "per": "hour"}
    yield -120, "start-asked", "restarter", {"price": {**price, "kind": "spot"}}
    yield 0, "running", "restarter", {}
    session: dict[str, object] = {"session": f"s{random.getrandbits(40):x}"}
    way = ((40, "booted"), (90, "server-start"), (900, "healthy"), (960, "first-episode"))
    for offset_s, kind in way:
        if offset_s < life_s:
            yield offset_s, kind, "boot-resume", session
    for step in range(55):
        yield life_s * (step + 0.5) / 55, "price-read", "restarter", {"price": price}
    yield (
        life_s,
        "stopped",
        "restarter",
        {"reason": "preempted", "detail": {"up_s": round(life_s, 3)}},
    )


def _event(
    at_s: float, kind: str, source: str, name: str, more: dict[str, object]
) -> dict[str, object]:
    at = stamp(BEGIN + timedelta(seconds=at_s))
    return {"at": at, "kind": kind, "source": source, "instance": name, **more}


def took(verb: str, place: Path) -> Took:
    """The command as a person runs it."""
    argv = [sys.executable, "-m", "bench.spoteval_here", verb, str(place), "--json"]
    paths = os.pathsep.join(str(ROOT / part) for part in ("common", "agents", "tests"))
    begun = time.monotonic()
    child = subprocess.Popen(
        argv, env=os.environ | {"PYTHONPATH": paths}, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    cpu_s = used.ru_utime + used.ru_stime
    return Took(verb, child.returncode, cpu_s, time.monotonic() - begun, used.ru_maxrss / 1024)


def main(argv: Sequence[str]) -> int:
    """The program."""
    place = Path(argv[0])
    print(f"{write_month(place)} events of {MACHINES} machines")
    found = [took(verb, place) for verb in VERBS]
    print("\n".join(one.line() for one in found))
    return max(one.code for one in found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
