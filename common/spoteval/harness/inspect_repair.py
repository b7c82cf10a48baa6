"""What to mend before Inspect resumes, so that it neither stumbles nor loses what is finished.

Each of these was seen to happen with Inspect 0.3.285:

- One torn `.eval` in the log directory ends `eval-set` with a traceback before it begins. (A flush is a rename
  without fsync: after a power cut some file systems show an empty file.) One of another eval set ends it, too.
- A buffer whose file name carries the id of a process that lives, after a reboot any process, counts as in use:
  its finished samples run again.
- The log written last counts as the furthest. A recovery that was killed half-way, or a clock that was set back,
  leaves one that is not: what only the others hold runs again.
- A kill during a flush leaves a temporary file as large as the log.
- A power cut leaves buffers that SQLite calls malformed, and that stay so.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from spoteval.episode import Outcome
from spoteval.files import remove, sync_directory
from spoteval.files.step import step
from spoteval.harness.inspect_buffer import SIDECARS, Buffer
from spoteval.harness.inspect_log import Log
from spoteval.harness.inspect_survey import row_attempt

# Linux numbers processes up to 2^22: no process ever has an id above it.
_NO_PROCESS = 1 << 22
_APART_NS = 1_000_000_000


def remove_leftovers(logs: Path) -> list[str]:
    """Remove the temporary files of flushes that were killed."""
    found = sorted(logs.glob(".inspect_tmp_*.writing"))
    return [f"removed {path.name}, left by a killed flush" for path in found if remove(path)]


def set_aside(wrong: Iterable[tuple[Path, str]], aside: Path) -> list[str]:
    """Move files out of Inspect's sight, each for the reason beside it. Nothing of them is thrown away."""
    said = []
    for path, why in wrong:
        target = _free(aside / path.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        step("rename", path)
        path.rename(target)
        step("renamed", path)
        sync_directory(target.parent)
        sync_directory(path.parent)
        said.append(f"{path.name} {why}: moved to {target}")
    return said


def free_buffers(found: Iterable[Buffer]) -> list[str]:
    """Give a buffer whose process id is taken again one that no process can have."""
    said = []
    for buffer in found:
        if buffer.pid <= _NO_PROCESS and Path(f"/proc/{buffer.pid}").exists():
            _rename_database(buffer)
            said.append(f"{buffer.path.name}: another process has its id now, so renamed")
    return said


def order_logs(logs: Iterable[Log], found: Iterable[Buffer], now_ns: int) -> list[str]:
    """Make the furthest log of each task the one written last, and none of the future; times only."""
    kept = _finished_in_buffers(found)
    by_time = sorted(logs, key=lambda log: (log.path.stat().st_mtime_ns, log.path.stem))
    wanted = _ordered(by_time, kept)
    latest = by_time[-1].path.stat().st_mtime_ns if by_time else 0
    if wanted == by_time and latest <= now_ns:
        return []
    for age, log in enumerate(reversed(wanted), start=1):
        moment = now_ns - age * _APART_NS
        step("utime", log.path)
        os.utime(log.path, ns=(moment, moment))
    return [f"{wanted[-1].path.name} is the furthest log: made the newest"]


def _ordered(by_time: list[Log], kept: dict[str, int]) -> list[Log]:
    wanted = list(by_time)
    for task in dict.fromkeys(log.task_id for log in by_time):
        own = [log for log in by_time if log.task_id == task]
        # of several that are as far, the newest stays it
        best = max(reversed(own), key=lambda log: len(log.kept) + kept.get(log.path.name, 0))
        if best is not own[-1]:
            wanted.remove(best)
            wanted.append(best)
    return wanted


def _finished_in_buffers(found: Iterable[Buffer]) -> dict[str, int]:
    """Samples that lie in the buffer of a log and are not run again, by the log's name."""
    counts: dict[str, int] = {}
    for buffer in found:
        ended = [row_attempt("", row) for row in buffer.rows]
        counts[buffer.log] = sum(
            item is not None and item.outcome is Outcome.COMPLETED for item in ended
        )
    return counts


def _rename_database(buffer: Buffer) -> None:
    """Second names first, the database's last; then the old ones go, the database's first.

    At no moment is there a database without the log of its last writes.
    """
    path = buffer.path
    new = path.with_name(f"{buffer.log}.{_NO_PROCESS + buffer.pid}.db")
    for end in (*SIDECARS, ""):
        old, link = path.with_name(path.name + end), new.with_name(new.name + end)
        if old.exists() and not link.exists():
            step("link", link)
            os.link(old, link)
            step("linked", link)
    sync_directory(path.parent)
    for end in ("", *SIDECARS):
        remove(path.with_name(path.name + end))


def _free(path: Path) -> Path:
    """`path`, or the first of path.2, path.3, … that is not taken."""
    taken = (path.with_name(f"{path.name}.{number}") for number in range(2, 10_000))
    return path if not path.exists() else next(name for name in taken if not name.exists())
