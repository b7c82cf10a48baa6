"""Whose the harness's own directory is: the run's user works in it, the agents read it."""

import os
import pwd
from pathlib import Path

from spoteval.control.refused import Refused
from spoteval.files import make_folder

_MODE = (
    0o2775  # the agents' group may put aside what is torn; what is made below has that group too
)


def give_work(work: Path, user: str) -> None:
    """Make `work`, and give it to the run's user where one is named and we are root. Raises Refused, OSError."""
    make_folder(work)
    if not user or os.geteuid() != 0:
        return
    try:
        uid = pwd.getpwnam(user).pw_uid
    except KeyError:
        raise Refused(f'[run] user "{user}": no such user on this machine') from None
    os.chown(work, uid, work.parent.stat().st_gid)
    work.chmod(_MODE)
