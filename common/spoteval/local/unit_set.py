"""The units of one local host: started in their order, stopped in the reverse of it."""

import signal
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import sleep

from spoteval.clock import Now
from spoteval.local.directories import LocalDirectories
from spoteval.local.journal import Journal
from spoteval.local.unit_file import Command, Unit, UnitError, ordered_after
from spoteval.local.unit_process import DOWN, Host, Status, UnitProcess
from spoteval.machine import process
from spoteval.machine.cgroup import MarkedProcesses
from spoteval.shape import Unreadable

_MOST_LOOKS = 1000  # a process that KILL does not end in seconds waits for the kernel
_SYSTEMCTL = ("systemctl", "--no-block")


class UnitSet:
    """All units that a host knows, and what runs of them. Nothing here waits; `tick` moves all on."""

    def __init__(
        self,
        units: Mapping[str, Unit],
        directories: LocalDirectories,
        journal: Journal | None = None,
    ) -> None:
        self._units = units
        self._after = ordered_after(units)
        self._directories = directories
        self._marked = MarkedProcesses(directories.root)
        self._journal = Journal(directories.journal) if journal is None else journal
        self._host = Host(directories.environment(), self._marked, self._journal)
        self._processes: dict[str, UnitProcess] = {}
        self._queued: dict[str, None] = {}  # start jobs, in the order in which they were asked for
        self._watching: set[str] = set()
        self._stopping = False
        self.poweroff_asked = False

    def boot(self, names: Iterable[str]) -> None:
        """Queue the start of these units; path units begin to watch."""
        self._stopping = self.poweroff_asked = False
        for name in names:
            if self._units[name].is_path:
                self._watching.add(name)
            else:
                self._queued[name] = None

    def shut_down(self) -> None:
        """Begin to stop everything, last started first. What was queued is not started any more."""
        self._stopping = True
        self._queued.clear()
        self._watching.clear()

    def kill(self, now: Now) -> None:
        """The plug: every process of every unit gets KILL at once, until none is left."""
        kill_all(self._marked)
        for unit in self._processes.values():
            unit.forget(now)
        self._processes.clear()
        self._queued.clear()
        self._watching.clear()

    def status(self, name: str) -> Status:
        """What a unit is now."""
        found = self._processes.get(name)
        return Status.INACTIVE if found is None else found.status

    @property
    def pids(self) -> frozenset[int]:
        """The main processes of units, which each unit waits for itself."""
        return frozenset(one.pid for one in self._processes.values() if one.pid is not None)

    @property
    def is_down(self) -> bool:
        """Whether a shutdown has come to its end."""
        return self._stopping and self.is_idle

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs and nothing waits for its turn."""
        return not self._queued and all(unit.status in DOWN for unit in self._processes.values())

    def tick(self, now: Now) -> None:
        """Look at the paths, start what may start, stop what may stop, move each process on."""
        self._look_at_paths()
        if self._stopping:
            self._stop_what_may(now)
        else:
            self._start_what_may(now)
        for unit in self._processes.values():
            unit.tick(now)

    def _look_at_paths(self) -> None:
        for name in self._watching:
            unit = self._units[name]
            path = unit.path_exists
            if path is not None and self._directories.mapped(path).exists():
                self._queued[unit.starts] = None

    def _start_what_may(self, now: Now) -> None:
        for name in list(self._queued):
            if any(self._is_coming(other) for other in self._after[name]):
                continue
            del self._queued[name]
            if self.status(name) in DOWN:
                self._start(name, now)

    def _is_coming(self, name: str) -> bool:
        """Whether a unit's start is not over yet, so that those ordered after it wait."""
        return name in self._queued or self.status(name) is Status.ACTIVATING

    def _start(self, name: str, now: Now) -> None:
        unit = self._units[name]
        for condition in unit.conditions:
            if self._directories.mapped(condition.path).exists() != condition.there:
                self._journal.say(name, f"not started: condition {condition.path}", now)
                return
        if is_helper(unit):
            for command in unit.commands:
                self._do(command, now)
            return
        self._processes.setdefault(name, UnitProcess(unit, self._host)).start(now)

    def _stop_what_may(self, now: Now) -> None:
        for name, unit in self._processes.items():
            later = (other for other in self._processes if name in self._after[other])
            if all(self._processes[other].status in DOWN for other in later):
                unit.stop(now)

    def _do(self, command: Command, now: Now) -> None:
        action = _action(command)
        assert action is not None
        verb, word = action
        self._journal.say("node", " ".join(command.argv), now)
        if verb == "remove":
            self._directories.mapped(Path(word)).unlink(missing_ok=True)
        elif verb == "start":
            self._queued[word] = None
        else:
            self.poweroff_asked = True


def kill_all(marked: MarkedProcesses) -> None:
    """KILL every marked process, and those that they started meanwhile, until none is seen."""
    for _ in range(_MOST_LOOKS):
        found = marked.all_members()
        if isinstance(found, Unreadable) or not found:
            return
        process.send(found, signal.SIGKILL)
        sleep(0.005)


def is_helper(unit: Unit) -> bool:
    """Whether root on a real host would do what the unit says, and the node itself does it here."""
    return bool(unit.commands) and all(_action(command) is not None for command in unit.commands)


def check(units: Mapping[str, Unit]) -> None:
    """Raises UnitError for a unit that a local node can not run."""
    for unit in units.values():
        if unit.is_path or is_helper(unit):
            if unit.is_path and unit.starts not in units:
                raise UnitError(f"{unit.name}: starts {unit.starts}, which is not there")
        elif len(unit.commands) != 1:
            raise UnitError(
                f"{unit.name}: a local node runs exactly one ExecStart=, and no ExecStartPre="
            )


def _action(command: Command) -> tuple[str, str] | None:
    """The three things that helper units do; None for any other command."""
    argv = command.argv
    if argv[:2] == ("rm", "-f") and len(argv) == 3:
        return "remove", argv[2]
    if argv[:3] == (*_SYSTEMCTL, "start") and len(argv) == 4:
        return "start", argv[3]
    return ("poweroff", "") if argv == (*_SYSTEMCTL, "poweroff") else None
