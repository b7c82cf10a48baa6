"""One machine in QEMU: a real kernel and power button, and a durable disk that loses what was not flushed.

Emulated (TCG): a guest hangs on many a /dev/kvm, and the lab shall run where there is none. The durable disk lies
behind `blklogwrites` (lab/writelog.py); KILL leaves what a disk without power would hold. The root disk keeps what it
was sent.
"""

import json
import signal
import socket
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from lab import qmp, writelog
from lab.image import SHELL_PORT, Image
from lab.nspawn import Said, until
from lab.orphans import MARK, mark
from lab.shell import PLAIN, Broken, call, log_of
from s3_server import free_port
from spoteval.clock import Now

MEMORY_MB, CPUS = 1024, 2
BOOT_S, DIE_S, WHOLE_S = 400.0, 30.0, 5.0
LOG_SIZE = "8G"  # holes
_COMMAND_LINE = "root=/dev/vda rw console=ttyS0 quiet panic=-1 systemd.show_status=0"


class Qemu:
    """A machine of the lab with a kernel of its own. Its disks are kept from boot to boot, less what a KILL loses.

    `words` go to the kernel's command line; `lab.store=PORT` says where on this host's loopback its store answers.
    """

    kind = "qemu"

    def __init__(
        self,
        name: str,
        place: Path,
        image: Image,
        disk: Path | None,
        seed: int = 0,
        words: str = "",
    ) -> None:
        place.mkdir(parents=True, exist_ok=True)
        self.name, self.place, self._image = name, place, image
        self.disk, self.log, self.lives = disk, writelog.Log(place / "writes-0"), 0
        self.spoilt = 0
        self._port, self._seed, self._words = free_port(), seed, words
        self._child: subprocess.Popen[bytes] | None = None
        self._pressed = False
        self._lock = threading.RLock()
        self._root = place / "root.qcow2"
        create = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(image.root)]
        call([*create, str(self._root)])

    # -- what the market does

    @property
    def durable(self) -> Path:
        """Where the image of its durable disk lies: a machine that runs is the only one to mount it."""
        return self.disk or self.place

    def boot(self) -> None:
        """Switch on. Returns at once."""
        with self._lock, (self.place / "qemu.log").open("ab") as out:
            self._settle()
            self._pressed = False
            self._child = subprocess.Popen(
                self._argv(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=PLAIN | {MARK: mark()},
            )

    def press_button(self) -> None:
        """The ACPI power button."""
        with self._lock:
            self._pressed = True
            with suppress(Broken):
                qmp.ask(self._monitor, "system_powerdown")

    def kill(self, now: Now | None = None) -> None:
        """The plug. What was not flushed is kept, lost or torn, by the seed."""
        with self._lock:
            if self._child is None:
                return
            self._child.kill()
            self._child.wait(DIE_S)
            self._child = None
            self._lose()

    def tick(self, now: Now) -> None:
        """A machine that reboots comes up again without anybody's doing."""
        with self._lock:
            if self.is_down and not self._pressed and self._reset:
                self.boot()

    @property
    def poweroff_asked(self) -> bool:
        """Whether it went off by itself."""
        return self.is_down and not self._pressed and not self._reset

    @property
    def is_down(self) -> bool:
        """Whether nothing of it runs any more, while it was switched on."""
        return self._child is not None and self._child.poll() is not None

    # -- what a person does

    def type(self, line: str, limit_s: float = 300.0) -> Said:
        """A line typed at root's shell. Raises Broken where the machine does not answer."""
        try:
            with socket.create_connection(("127.0.0.1", self._port), 10.0) as link:
                link.settimeout(limit_s)
                with link.makefile("rwb") as talk:
                    talk.write(json.dumps(line).encode() + b"\n")
                    talk.flush()
                    said = json.loads(talk.readline())
        except (OSError, ValueError) as error:
            raise Broken(f"{self.name}: {line[:80]}: {error}") from None
        return Said(said["code"], said["out"], said["err"])

    def must(self, line: str, limit_s: float = 300.0) -> str:
        """The output of a line that has to succeed. Raises Broken."""
        said = self.type(line, limit_s)
        if said.code:
            raise Broken(f"{self.name}# {line[:160]}: exit {said.code}: {said.text[-500:]}")
        return said.out

    def up(self, within_s: float = BOOT_S) -> None:
        """Wait until the machine has booted. Raises Broken."""
        until(self._has_booted, within_s, f"{self.name} to boot", self.console, every_s=0.5)

    def console(self, most: int = 1500) -> str:
        """What it last wrote to its serial line: the kernel, and its journal."""
        return log_of(self.console_file, most)

    @property
    def console_file(self) -> Path:
        """All of it, over all boots."""
        return self.place / "console"

    def off(self, within_s: float) -> float:
        """Wait until it is off, and return for how long. Raises Broken."""
        return until(lambda: self.is_down, within_s, f"{self.name} to go off", self.console)

    def remove(self) -> None:
        """End it; its disks stay."""
        with self._lock:
            if self._child is not None:
                self._child.kill()
                self._child.wait(DIE_S)
                self._child = None

    # -- an instant

    def freeze(self) -> writelog.Moment:
        """Hold it still, with every write that is under way finished; what its disk is then. `thaw` goes on.

        SIGSTOP and not the monitor's `stop`, which flushes the disks.
        """
        assert self._child is not None
        if self.is_down:
            return self._moment(self.log.look())
        for _ in range(100):
            self._child.send_signal(signal.SIGSTOP)
            until(self._is_still, DIE_S, f"{self.name} to stand still", every_s=0.002)
            count = self.log.look()
            if self.log.is_whole:
                return self._moment(count)
            self.thaw()
        raise Broken(f"{self.name}: a gap in the log of its disk at each look")

    def thaw(self) -> None:
        """Go on."""
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(signal.SIGCONT)

    def _moment(self, count: int) -> writelog.Moment:
        return writelog.Moment(self._base, self.log.path, tuple(self.log.entries[:count]))

    def _is_still(self) -> bool:
        assert self._child is not None
        tasks = Path(f"/proc/{self._child.pid}/task")
        states = (_state(task / "stat") for task in tasks.iterdir())
        return all(state in "TtZX" for state in states)

    def _settle(self) -> None:
        """Its disk as it is now is what its new log begins from."""
        if self.disk is None:
            return
        self.lives += 1
        self.log = writelog.Log(self.place / f"writes-{self.lives}")
        call(["cp", "--sparse=always", str(self.disk), str(self._base)])
        call(["truncate", "--size", LOG_SIZE, str(self.log.path)])

    def _lose(self) -> None:
        if self.disk is not None:
            moment = self._moment(self.log.look())
            self.spoilt = moment.write(self.disk, self._seed + self.lives)

    @property
    def _reset(self) -> bool:
        """Whether it ended as a machine that wants to come up again."""
        return "reboot: Restarting system" in self.console()

    @property
    def _base(self) -> Path:
        return self.place / f"base-{self.lives}"

    @property
    def _monitor(self) -> Path:
        return self.place / "qmp"

    def _has_booted(self) -> bool:
        if self.is_down:
            raise Broken(f"{self.name} went off: {log_of(self.place / 'qemu.log', 300)}")
        try:
            said = self.type("systemctl is-system-running", 60.0).out.strip()
        except Broken:
            return False
        return said in ("running", "degraded")

    def _argv(self) -> list[str]:
        argv = ["qemu-system-x86_64", "-name", self.name, "-nodefaults", "-display", "none"]
        argv += ["-no-reboot", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(CPUS)]
        argv += ["-m", str(MEMORY_MB), "-kernel", str(self._image.kernel)]
        argv += ["-initrd", str(self._image.initrd), "-append", f"{_COMMAND_LINE} {self._words}"]
        argv += ["-drive", f"if=none,id=root,format=qcow2,cache=unsafe,file={self._root}"]
        argv += ["-device", "virtio-blk-pci,drive=root"]
        argv += _durable(self.disk, self.log.path) if self.disk is not None else []
        forward = f"hostfwd=tcp:127.0.0.1:{self._port}-:{SHELL_PORT}"
        argv += ["-netdev", f"user,id=net,ipv6=off,{forward}"]
        argv += ["-device", "virtio-net-pci,netdev=net,mac=52:54:00:12:34:56"]
        argv += ["-device", "virtio-rng-pci"]
        argv += ["-chardev", f"file,id=line,append=on,path={self.console_file}"]
        argv += ["-serial", "chardev:line", "-qmp", f"unix:{self._monitor},server=on,wait=off"]
        return argv


def _durable(disk: Path, log: Path) -> Sequence[str]:
    """The guest's flushes end in the log: that this host also puts them on its own disk would only cost time."""
    nodes = (
        f"driver=file,node-name=disk,cache.no-flush=on,filename={disk}",
        f"driver=file,node-name=log,cache.no-flush=on,filename={log}",
        "driver=blklogwrites,node-name=durable,file=disk,log=log",
    )
    argv = [word for node in nodes for word in ("-blockdev", node)]
    return [*argv, "-device", "virtio-blk-pci,drive=durable,serial=durable,write-cache=on"]


def _state(stat: Path) -> str:
    try:
        return stat.read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"
