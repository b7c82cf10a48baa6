"""Nothing outlives its driver: a process that waits for the driver's end and then kills what it left."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from spoteval.local.unit_set import kill_all
from spoteval.machine import process
from spoteval.machine.cgroup import MarkedProcesses

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextmanager
def guarded(root: Path) -> Iterator[None]:
    """For the block, a watchdog waits at the other end of a pipe, which the kernel closes if we are killed."""
    child = process.spawn(
        [sys.executable, "-m", "spoteval.local.watchdog", str(root)], stdin_pipe=True
    )
    try:
        yield
    finally:
        if child.stdin is not None:
            child.stdin.close()
        child.wait(10.0)


def parent_watch(*, with_parent: bool) -> Callable[[], bool]:
    """Asks whether the caller still lives (an orphan gets another parent); always yes unless `with_parent`."""
    parent = os.getppid()
    return lambda: not with_parent or os.getppid() == parent


def main() -> int:
    """Wait for the end of standard input, then leave no process of this root."""
    for signum in ENDING:
        signal.signal(signum, signal.SIG_IGN)
    sys.stdin.buffer.read()
    kill_all(MarkedProcesses(Path(sys.argv[1])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
