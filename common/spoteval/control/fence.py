"""Keeping the run's user from the instance's identity: who that is, and what became of it."""

import pwd

from spoteval.control.runcontrol import RUN_UNIT
from spoteval.machine import fence, process
from spoteval.machine.process import Run
from spoteval.shape import Reading, Unreadable

_WITHIN_S = 5.0


def fence_run(run: Run = process.run) -> Reading[str]:
    """Close the metadata addresses to the user of the run's unit; its name. Unreadable says which stay open, or why."""
    user = _user(run)
    if isinstance(user, Unreadable):
        return user
    still = fence.close_to(user.pw_uid, run)
    if isinstance(still, Unreadable):
        return still
    return Unreadable(f"{', '.join(still)} stays open to {user.pw_name}") if still else user.pw_name


def _user(run: Run) -> Reading[pwd.struct_passwd]:
    """As systemd has it from the unit and its drop-ins."""
    done = run(["systemctl", "show", "--property", "User", "--value", "--", RUN_UNIT], _WITHIN_S)
    name = done.out.strip()
    if not done.ok or not name:
        return Unreadable(f"systemctl show {RUN_UNIT}: {done.err.strip() or 'names no user'}")
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return Unreadable(f'{RUN_UNIT}: no user "{name}" on this machine')
