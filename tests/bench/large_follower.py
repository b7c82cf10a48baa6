"""The publication follower over one log: large_follower.py DIRECTORY BEFORE AFTER; prints figures as JSON.

Its own process, so that memory and CPU time are the follower's. The store is a directory.
"""

import contextlib
import io
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from follower_world import Guest
from spoteval.harness.inspect import Inspect
from spoteval.harness.parts import PartReader
from spoteval_agents.publication_follower.cycle import cycle

QUIETS, MOST = 5, 60
LONG_AGO_S = 3600.0
READER = PartReader()


def main(root: Path, before: Path, after: Path) -> None:
    """Publish what is there, find nothing five times, publish what came."""
    guest = Guest(root / "guest", harness="inspect")
    adapter = Inspect()
    guest.adapter = lambda _: adapter  # type: ignore[method-assign, assignment, return-value]
    logs = guest.paths.work / "logs"
    logs.mkdir(parents=True)
    _place(before, logs)
    first_s = 0.0
    while (spent_s := _pass(guest)) and not _is_at_rest(guest):
        first_s += spent_s
    quiet_s = statistics.median(_pass(guest) for _ in range(QUIETS))
    known = _witnessed(guest)
    _place(after, logs)
    news_s = _pass(guest)
    found = {
        "samples": _witnessed(guest),
        "news": _witnessed(guest) - known,
        "first_s": round(first_s, 2),
        "quiet_ms": round(1000 * quiet_s, 2),
        "news_s": round(news_s, 3),
        "rss_kb": _rss_kb(),
    }
    print(json.dumps(found))


def _place(log: Path, logs: Path) -> None:
    """Put a log there as a flush does, and let it be an hour old."""
    temporary = logs / ".new"
    shutil.copy(log, temporary)
    moment = time.time() - LONG_AGO_S
    os.utime(temporary, (moment, moment))
    temporary.rename(logs / "large.eval")


def _pass(guest: Guest) -> float:
    """CPU seconds of a regular pass; its line is not printed."""
    guest.later(61)
    world = replace(guest.world, read_part=READER.read)  # as the agent does
    return _spent_s(lambda: cycle(world, guest.memory))


def _spent_s(act: Callable[[], None]) -> float:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        began_s = time.process_time()
        act()
        return time.process_time() - began_s


def _is_at_rest(guest: Guest) -> bool:
    return guest.memory.quiet is not None


def _witnessed(guest: Guest) -> int:
    with guest.paths.finished.open("rb") as lines:
        return sum(1 for _ in lines)


def _rss_kb() -> int:
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
