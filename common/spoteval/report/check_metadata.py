"""The check that keeps a run from the instance's identity, by trying."""

import os
from collections.abc import Iterator
from pathlib import Path

from spoteval.control.fence import fence_run
from spoteval.machine import process
from spoteval.machine.process import Run
from spoteval.report.check import Check, ok, warn
from spoteval.shape import Unreadable

_SYSTEMD = Path("/run/systemd/system")


def metadata_check(run: Run = process.run, systemd: Path = _SYSTEMD) -> Iterator[Check]:
    """Whether the kernel routes the run's user to a metadata address once it is told not to; nothing without systemd.

    The rules stay, as the run's start lays them again.
    """
    if not systemd.is_dir():
        return
    if os.geteuid() != 0:
        yield warn("metadata", "of the cloud: only root can try (sudo spoteval check)")
        return
    user = fence_run(run)
    if isinstance(user, Unreadable):
        page = "docs/secrets.md#metadata"
        yield warn("metadata", f"of the cloud: {user.why}: not enforced on this host ({page})")
    else:
        yield ok("metadata", f"of the cloud: closed to {user}")
