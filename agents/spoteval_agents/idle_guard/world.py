"""Reading the machine: nothing here changes anything."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from spoteval.clock import Now
from spoteval.config.guest import GuestConfig
from spoteval.control import stopping
from spoteval.control.busy import working
from spoteval.control.completeness import Completeness
from spoteval.control.disk import prove
from spoteval.control.enders import Ender
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.control.runfiles import active_run
from spoteval.files import read_text
from spoteval.machine.cgroup import Members
from spoteval.machine.cpu import CpuTimes, cpu_share, cpu_times
from spoteval.paths import DurablePaths, HostPaths
from spoteval.shape import Reading, Unreadable
from spoteval_agents.idle_guard.decide import Seen

STAT = Path("/proc/stat")
CPU_OVER_S = 10.0
"""Over how long the share of the processors is taken: the start of a child of ours is no use of the machine."""


@dataclass(slots=True)
class Probes:
    """What is looked at, and the processors' counters at the last look."""

    config: GuestConfig
    host: HostPaths
    session: str
    members: Members
    stat: Path = STAT
    _count: Completeness = field(default_factory=Completeness, init=False)
    _before: Reading[CpuTimes] | None = field(default=None, init=False)
    _share: Reading[float | None] = field(default=None, init=False)
    _since: float | None = field(default=None, init=False)

    def disk(self) -> Reading[DurablePaths]:
        """The durable disk, where it has proved itself now."""
        proof = prove(self.config)
        return proof if isinstance(proof, Unreadable) else proof.paths

    def places(self, disk: Reading[DurablePaths]) -> tuple[Path, ...]:
        """Where intents lie: the disk, and /run, which also serves without one."""
        here = self.host.run / "enders"
        return (here,) if isinstance(disk, Unreadable) else (disk.enders, here)

    def look(
        self, disk: Reading[DurablePaths], now: Now, work: str | None, failed: str | None
    ) -> Seen:
        """The world of this cycle. Without a disk there is no run on it, and no keep-alive."""
        pids = self.members.members(RUN_UNIT)
        seen = Seen(
            session=self.session,
            members=pids if isinstance(pids, Unreadable) else len(pids),
            cpu=self._cpu(now),
            draining=self.host.draining.exists(),
            intents=self._intents(disk),
            work=work,
            failed=failed,
        )
        if isinstance(disk, Unreadable):
            return replace(seen, disk=disk.why)
        busy = working(disk, self.session, now)
        return replace(
            seen,
            complete=self._complete(disk) if busy else False,
            guest_hold=read_text(disk.guest_hold),
            busy=busy,
            keep_alive=read_text(disk.keep_alive),
        )

    def _complete(self, disk: DurablePaths) -> Reading[bool]:
        """Whether nothing is left to resume: no active run, or one that is over."""
        name = active_run(disk)
        if isinstance(name, Unreadable):
            return name
        if name is None or disk.run(name).end.exists():
            return True
        found = self._count.look(disk.run(name))
        return found if isinstance(found, Unreadable) else found.complete

    def _intents(self, disk: Reading[DurablePaths]) -> Reading[tuple[Ender, ...]]:
        """Of the disk as far as it can be read: what it hides must not keep the machine on for ever."""
        places = self.places(disk)
        found = stopping.intents(places)
        return stopping.intents(places[-1:]) if isinstance(found, Unreadable) else found

    def _cpu(self, now: Now) -> Reading[float | None]:
        """The newest share that was taken over CPU_OVER_S or longer; None before the first."""
        if self._since is not None and now.mono_s - self._since < CPU_OVER_S:
            return self._share
        before, after = self._before, cpu_times(self.stat)
        self._before, self._since = after, now.mono_s
        if isinstance(after, Unreadable):
            self._share = after
        elif before is not None:
            self._share = cpu_share(before, after)
        return self._share
