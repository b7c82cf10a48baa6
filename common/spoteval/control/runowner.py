"""Whose the harness's own directory is: the run's user works in it, the agents read it."""

import os
import pwd
from pathlib import Path

from spoteval.control.refused import Refused
from spoteval.files import make_folder

_MODE = (
    0o2775  # the agents' group may put aside what is torn; what is made below has that group too
)


RUN_USER = "spoteval-run"
"""Whose a run is that names no user: the package makes it, and it owns nothing else."""


def give_work(work: Path, user: str) -> None:
    """Make `work`, and give it to the run's user where there is one and we are root. Raises Refused, OSError."""
    make_folder(work)
    if os.geteuid() != 0:
        return
    uid = _uid_of(user, work.parent.stat().st_uid)
    if uid is None:
        return
    os.chown(work, uid, work.parent.stat().st_gid)
    work.chmod(_MODE)


def _uid_of(user: str, agents: int) -> int | None:
    """The run's user; None for the agents' own, on a machine (a local node) that has no user for runs."""
    try:
        uid = pwd.getpwnam(user or RUN_USER).pw_uid
    except KeyError:
        if not user:
            return None
        raise Refused(f'[run] user "{user}": no such user on this machine') from None
    if uid in (0, agents):
        raise Refused(
            f'[run] user "{user}" may touch holds and read keys, and so may the agent under evaluation'
            f' (another user, or none: "{RUN_USER}")'
        )
    return uid
