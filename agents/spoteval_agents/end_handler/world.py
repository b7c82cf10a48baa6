"""Reading the run and the machine: nothing here changes anything."""

from dataclasses import dataclass, field

from spoteval.clock import Now, left_s
from spoteval.config.guest import GuestConfig
from spoteval.control.completeness import Completeness
from spoteval.control.disk import prove
from spoteval.control.enders import enders
from spoteval.control.ending import read_end
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.control.runfiles import active_run, read_run
from spoteval.control.uptime import counted, read_uptime
from spoteval.files import read_text
from spoteval.machine.cgroup import Members
from spoteval.paths import DurablePaths
from spoteval.run import RunRecord
from spoteval.shape import Reading, Unreadable
from spoteval_agents.end_handler.seen import RunSeen, Seen


@dataclass(slots=True)
class Probes:
    """What is looked at, and the run's counted episodes."""

    config: GuestConfig
    session: str
    members: Members
    _count: Completeness = field(default_factory=Completeness, init=False)

    def disk(self) -> Reading[DurablePaths]:
        """The durable disk, where it has proved itself now."""
        proof = prove(self.config)
        return proof if isinstance(proof, Unreadable) else proof.paths

    def look(self, disk: Reading[DurablePaths], work: str | None, now: Now) -> Seen:
        """The world of this cycle."""
        if isinstance(disk, Unreadable):
            return Seen(self.session, disk=disk.why, work=work)
        return Seen(
            session=self.session,
            run=self._run(disk, now),
            kill_switch=read_text(disk.kill_switch),
            guest_hold=read_text(disk.guest_hold),
            intents=enders(disk.enders),
            work=work,
        )

    def _run(self, disk: DurablePaths, now: Now) -> Reading[RunSeen | None]:
        name = active_run(disk)
        if not isinstance(name, str):
            return name
        paths = disk.run(name)
        pids = self.members.members(RUN_UNIT)
        record = read_run(paths)
        deadline = record if isinstance(record, Unreadable) else record.plan.deadline
        return RunSeen(
            name=name,
            count=self._count.look(paths),
            members=pids if isinstance(pids, Unreadable) else len(pids),
            deadline=deadline,
            limit_s=_limit_s(record),
            up_s=counted(read_uptime(disk.uptime(name)), self.session, now).total_s
            if deadline
            else None,
            end=read_end(paths),
            finishing=paths.finish.exists(),
            rehearsal=isinstance(record, RunRecord) and record.rehearsal,
        )


def _limit_s(record: Reading[RunRecord]) -> float | None:
    """From the making of the run to its deadline."""
    if isinstance(record, Unreadable) or record.plan.deadline is None:
        return None
    return left_s(record.plan.deadline, Now(record.created, 0.0, ""))
