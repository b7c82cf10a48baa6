"""Stopping the active run, for `run stop` and for `stop` on the guest."""

import os

from spoteval.cli.active import adapter_of
from spoteval.cli.common import Host, who
from spoteval.clock import read_now
from spoteval.control.refused import Failed
from spoteval.control.runcontrol import Stopped
from spoteval.control.runstop import Asked, stop_marked
from spoteval.machine.cgroup import MARK, MarkedProcesses, Members, members_here
from spoteval.machine.session import this_session
from spoteval.paths import DurablePaths
from spoteval.run import RunRecord
from spoteval.shape import Unreadable


def stop_active(host: Host, disk: DurablePaths, record: RunRecord, reason: str) -> str:
    """Stop the run's processes; returns what became of them. Raises Failed where some are left."""
    session = this_session(host.paths.session, read_now().boot).id
    steps = adapter_of(record).stop_steps
    asked = Asked(who(), reason, session)
    done = stop_marked(record, disk.run(record.name), asked, members_of(host), steps)
    if isinstance(done, Unreadable):
        raise Failed(f"whether {record.name} has stopped is unknown: {done.why}")
    if done is None:
        return f"{record.name} was not running"
    if not done.empty:
        raise Failed(f"{record.name}: some of its processes are still there after KILL")
    return f"{record.name} stopped: {_how(done)}"


def members_of(host: Host) -> Members:
    """The processes of this guest's units. Without systemd they are marked, also for who types beside them."""
    is_local = host.guest is not None and host.guest.provider == "local"
    typed_beside = MARK not in os.environ and (is_local or host.paths.supervised.exists())
    return MarkedProcesses(host.paths.run.resolve().parent) if typed_beside else members_here()


def _how(done: Stopped) -> str:
    told = " then ".join(done.told) or "no signal"
    return f"{told}, {done.killed} had to be killed" if done.killed else told
