"""A machine by nspawn whose durable disk loses what was not flushed: it boots in seconds.

Its kernel is this host's, so it shows nothing of a kernel's own way down; the disk is as true as QEMU's.
"""

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from lab.image import JOURNAL
from lab.nspawn import Nspawn, until
from lab.recorded import Recorded
from lab.shell import Broken, log_of
from lab.writelog import Moment
from power.guest import Link, configure
from power.prepared import Prepared, machine
from power.worlds import World
from s3_server import free_port

DIE_S = 60.0
PF_EXITING = 0x4


class Plugged:
    """One that is cut; each life has a log of its own."""

    kind = "nspawn"

    def __init__(
        self, name: str, place: Path, found: Prepared, world: World, disk: Path, seed: int
    ) -> None:
        self.name, self.place, self._found, self._world = name, place, found, world
        self.durable, self._seed, self._lives = disk, seed, 0
        self._port = free_port()
        self._host: Nspawn | None = None
        self._disk: Recorded | None = None
        self._closed: Moment | None = None

    def boot(self) -> None:
        """Switch on."""
        self._lives += 1
        self._closed = None
        self._disk = Recorded(self.durable, self._found.uuid, self.place / f"life-{self._lives}")
        self._host = machine(self.name, self.place / "host", self._found.layers, self._disk.disk)
        link = Link(f"http://127.0.0.1:{self._world.serve()}", self._port, self._found.uuid)
        configure(self._host.root, self._found.plan, link)
        journal = self._host.root / "etc" / "systemd" / "journald.conf.d" / "lab.conf"
        journal.parent.mkdir(parents=True, exist_ok=True)
        journal.write_text(JOURNAL)
        self._host.boot()

    def press_button(self) -> None:
        """The power button."""
        self._here[0].press_button()

    @property
    def is_down(self) -> bool:
        """Whether nothing of it runs any more."""
        return self._host is None or self._host.is_down

    def freeze(self) -> Moment:
        """Its disk stands still, and with it whatever waits for a flush; what is on it then."""
        if self._closed is not None:
            return self._closed
        host, disk = self._here
        return self._off_in_order() if host.is_down else disk.freeze()

    def thaw(self) -> None:
        """Go on."""
        if self._disk is not None:
            self._disk.thaw()

    def kill(self) -> None:
        """The plug, while it stands still: dead before its disk goes on, which then loses what was not flushed."""
        if self.is_down:
            self._closed = self._closed or self._off_in_order()
            return
        host, disk = self._here
        moment = disk.freeze()
        if (leader := host.leader) is not None:
            _end_all(leader)
        disk.thaw()
        until(lambda: host.is_down, DIE_S, f"{self.name} to be reaped")  # by its own nspawn
        host.remove()
        disk.close()
        self._host = self._disk = None
        moment.write(self.durable, self._seed + self._lives)

    def off(self, within_s: float) -> float:
        """Wait until it is off, then unmount its disk, as its own kernel would have. Raises Broken."""
        took_s = until(lambda: self.is_down, within_s, f"{self.name} to go off", self.console)
        if self._closed is None:
            self._off_in_order()
        return took_s

    @property
    def console_file(self) -> Path:
        """Its journal, over all boots."""
        return self.place / "host" / "console"

    def console(self, most: int = 1500) -> str:
        """Its last words."""
        return log_of(self.console_file, most)

    def remove(self) -> None:
        """End it; its disk stays, and goes on first: who waits for a disk that stands still cannot die."""
        self.thaw()
        if self._host is not None:
            self._host.remove()
        if self._disk is not None:
            self._disk.close()
        self._host = self._disk = None

    @property
    def _here(self) -> tuple[Nspawn, Recorded]:
        if self._host is None or self._disk is None:
            raise Broken(f"{self.name} is off")
        return self._host, self._disk

    def _off_in_order(self) -> Moment:
        host, disk = self._here
        host.remove()
        self._closed = disk.close()
        self._host = self._disk = None
        return self._closed


def _end_all(leader: int) -> None:
    """KILL to each process of the machine, until none can do anything more but return from a wait for its disk.

    The disk goes on only then: what was published after the cut would be on no disk.
    """
    space = _space(leader)
    own = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
    members = [path for path in own if _space(int(path.name)) == space]
    for path in sorted(members, key=lambda path: int(path.name) == leader):
        with suppress(ProcessLookupError):
            os.kill(int(path.name), signal.SIGKILL)
    until(
        lambda: all(_state(path) in "DZX" for path in members),
        DIE_S,
        "a machine to die",
        lambda: _alive(members),
    )


def _space(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return ""


def _state(process: Path) -> str:
    """Its letter; X for one that is gone. A process has several threads, any of which may still run."""
    try:
        states = [_letter((path / "stat").read_text()) for path in process.glob("task/*")]
    except OSError:
        return "X"
    return next((state for state in states if state not in "DZX"), "X")


def _letter(stat: str) -> str:
    """X also for a thread on its way out: PID 1 of the machine sleeps there until all others have gone.

    State and flags are the third and ninth field of /proc/PID/stat: proc(5); PF_EXITING: linux/sched.h.
    """
    fields = stat.rpartition(")")[2].split()
    return "X" if int(fields[6]) & PF_EXITING else fields[0]


def _alive(processes: Sequence[Path]) -> str:
    """Those that are neither dead nor waiting, with their state."""
    found = [(path, _state(path)) for path in processes]
    return ", ".join(f"{_name(path)} {state}" for path, state in found if state not in "DZX")


def _name(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:80]
    except OSError:
        return process.name
