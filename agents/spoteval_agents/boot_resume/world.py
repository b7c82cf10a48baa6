"""Looking: everything that one cycle wants to know, read anew from files and processes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Generic, TypeVar

from spoteval.clock import Now
from spoteval.config.guest import GuestConfig
from spoteval.control.boot import recorded_boot
from spoteval.control.disk import prove
from spoteval.control.enders import enders
from spoteval.control.environment import Standing, standing
from spoteval.control.epochs import claimed
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.control.runfiles import active_run, progress, read_run
from spoteval.files import read_lines, read_text
from spoteval.harness.begun import begun
from spoteval.machine import process
from spoteval.machine.cgroup import Members
from spoteval.paths import DurablePaths, HostPaths, RunPaths
from spoteval.run import RunRecord
from spoteval.shape import Reading, Unreadable
from spoteval_agents.boot_resume.seen import Policy, RunSeen, Seen, Server
from spoteval_agents.boot_resume.stages import Stages, stages_of

T = TypeVar("T")
_TICKS_PER_S = 100  # USER_HZ, the unit of /proc/PID/stat, the same on every Linux


class Known(Generic[T]):
    """A value read from files, read again only when one of them has changed."""

    def __init__(self) -> None:
        self._stamp: object = None
        self._value: list[T] = []

    def value(self, paths: Sequence[Path], read: Callable[[], T]) -> T:
        """The value; `read` is called where the files differ from those of the last call."""
        stamp = [(path, _stamp(path)) for path in paths]
        if not self._value or stamp != self._stamp:
            self._stamp, self._value = stamp, [read()]
        return self._value[0]


@dataclass
class World:
    """Where this agent looks. `session` is this life's."""

    config: GuestConfig
    host: HostPaths
    members: Members
    session: str
    policy: Policy
    _guest: Known[Stages] = field(default_factory=Known)
    _run: Known[tuple[Stages, Standing]] = field(default_factory=Known)
    _complete: Known[Reading[bool]] = field(default_factory=Known)

    def look(self, now: Now, work: str | None) -> Seen:
        """One look. What cannot be read at all is a disk that cannot be used."""
        proof = prove(self.config)
        if isinstance(proof, Unreadable):
            return Seen(self.session, disk=proof.why)
        try:
            return self._seen(proof.paths, now, work)
        except OSError as error:
            return Seen(self.session, disk=f"{error.filename}: {error.strerror}")

    def _seen(self, disk: DurablePaths, now: Now, work: str | None) -> Seen:
        boot = recorded_boot(disk)
        run = self._run_seen(disk)
        seen = Seen(
            session=self.session,
            numbered=not isinstance(boot, Unreadable) and boot.session == self.session,
            guest=self._stages(self._guest, disk.root / "events.jsonl"),
            run=run,
            intents=enders(disk.enders),
            draining=self.host.draining.exists(),
            hold=read_text(disk.guest_hold),
            servers=self.policy.servers,
            work=work,
        )
        return self._with_servers(seen, now) if _needs_servers(run) else seen

    def _run_seen(self, disk: DurablePaths) -> Reading[RunSeen | None]:
        name = active_run(disk)
        if name is None or isinstance(name, Unreadable):
            return name
        record = read_run(disk.run(name))
        if isinstance(record, Unreadable):
            return record
        return self._active(record, disk.run(name))

    def _active(self, record: RunRecord, paths: RunPaths) -> RunSeen:
        stages, environment = self._run.value(
            [paths.events], lambda: self._told(record, paths.events)
        )
        pids = self.members.members(RUN_UNIT)
        files = [paths.finished, paths.intended, paths.settlement, paths.end]
        return RunSeen(
            record=record,
            stages=stages,
            members=pids if isinstance(pids, Unreadable) else len(pids),
            claimed=claimed(paths, self.session) is not None,
            complete=self._complete.value(files, lambda: _complete(paths)),
            begun=_begun(record, paths, stages, pids),
            finishing=paths.finish.exists(),
            standing=environment,
        )

    def _stages(self, known: Known[Stages], events: Path) -> Stages:
        return known.value([events], lambda: stages_of(read_lines(events).records, self.session))

    def _told(self, record: RunRecord, events: Path) -> tuple[Stages, Standing]:
        records = read_lines(events).records
        return stages_of(records, self.session), standing(record, records)

    def _with_servers(self, seen: Seen, now: Now) -> Seen:
        servers = [_alive(server, self.members.members(server.unit)) for server in seen.servers]
        born = [server.born_s for server in servers if server.born_s is not None]
        since = now.wall - timedelta(seconds=max(0.0, now.mono_s - min(born))) if born else None
        return replace(seen, servers=tuple(servers), served_since=since)


def _needs_servers(run: Reading[RunSeen | None]) -> bool:
    """In the gate, and while the run works on them."""
    if not isinstance(run, RunSeen):
        return False
    return (run.stages.resumed and not run.stages.healthy) or run.stages.started is not None


def _alive(server: Server, pids: Reading[frozenset[int]]) -> Server:
    if isinstance(pids, Unreadable):
        return replace(server, alive=pids, born_s=None)
    return replace(server, alive=bool(pids), born_s=_oldest_s(pids))


def _oldest_s(pids: Iterable[int]) -> float | None:
    """When the oldest of the processes began; the kernel counts from the machine's boot, as `mono_s` does."""
    began = [age for pid in pids if not isinstance(age := process.start_time(pid), Unreadable)]
    return min(began) / _TICKS_PER_S if began else None


def _complete(paths: RunPaths) -> Reading[bool]:
    if paths.end.exists():
        return True
    found = progress(paths)
    return found if isinstance(found, Unreadable) else found.complete


def _begun(
    record: RunRecord, paths: RunPaths, stages: Stages, pids: Reading[frozenset[int]]
) -> bool:
    """Looked at only while the run works and nobody knows yet."""
    if stages.asked is None or stages.first_episode or isinstance(pids, Unreadable) or not pids:
        return False
    try:
        return begun(record.plan.harness, paths.work, pids, stages.asked.wall)
    except OSError:
        return False


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Size too: two appends may fall into one tick of the file system's clock."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
