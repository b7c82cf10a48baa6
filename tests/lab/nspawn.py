"""One machine: a real systemd as PID 1 over an overlay, with a power button, a plug, and a root shell."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lab.orphans import MARK, mark
from lab.overlay import mount, unmount
from lab.shell import ENDING, PLAIN, Broken, call, log_of, tried
from spoteval.clock import Now

SHELL = PLAIN | {"HOME": "/root", "TERM": "dumb"}
REBOOTS = 133  # what nspawn exits with when the machine wants to be started again
BOOT_S, DIE_S, EVERY_S = 90.0, 30.0, 0.05


@dataclass(frozen=True, slots=True)
class Said:
    """What a command typed on a machine came to."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """All of it, for people."""
        return f"{self.out}{self.err}".strip()


class Nspawn:
    """A machine of the lab. Its disk is kept from boot to boot; nothing of it is registered with this host.

    It shares this host's network, unless it is `private`: then it has a loopback of its own, and rights over it.
    """

    def __init__(
        self,
        name: str,
        place: Path,
        layers: Sequence[Path],
        binds: Mapping[Path, str],
        durable: Path,
        *,
        private: bool = False,
    ) -> None:
        self.name = name
        self._private = private
        self.durable = durable
        self.place = place
        self._binds = dict(binds)
        self._child: subprocess.Popen[bytes] | None = None
        self._leader: int | None = None
        self._pressed = False
        self._lock = threading.RLock()
        self.root = mount(layers, place)

    # -- what the market does

    def boot(self) -> None:
        """Switch on. Returns at once."""
        with self._lock, self._console.open("ab") as out:
            self._pressed, self._leader = False, None
            self._child = subprocess.Popen(
                self._argv(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=PLAIN | {MARK: mark()},
            )

    def press_button(self) -> None:
        """An orderly shutdown begins, as at an ACPI power button."""
        with self._lock:
            self._pressed = True
            if self._child is not None and self._child.poll() is None:
                self._child.send_signal(signal.SIGTERM)

    def kill(self, now: Now | None = None) -> None:
        """The plug: PID 1 gets KILL, and the kernel everything below it."""
        with self._lock:
            if self._child is None:
                return
            leader = self.leader
            self._child.kill()
            self._child.wait(DIE_S)
            self._child = self._leader = None
        # Also where nspawn itself is gone already: what it leaves behind is a machine without a plug.
        if leader is not None:
            _end(leader)

    def tick(self, now: Now) -> None:
        """A machine that reboots comes up again without anybody's doing."""
        with self._lock:
            if self._child is not None and self._child.poll() == REBOOTS and not self._pressed:
                self.boot()

    @property
    def poweroff_asked(self) -> bool:
        """Whether it went off by itself."""
        return self.is_down and not self._pressed

    @property
    def is_down(self) -> bool:
        """Whether nothing of it runs any more, while it was switched on."""
        with self._lock:
            return self._child is not None and self._child.poll() not in (None, REBOOTS)

    # -- what a person does

    @property
    def leader(self) -> int | None:
        """PID 1 of the machine, as this host numbers it."""
        child = self._child
        if self._leader is None and child is not None and child.poll() is None:
            self._leader = _first_of(child.pid)
        return self._leader if self._leader is not None and _is_first(self._leader) else None

    def type(self, line: str, limit_s: float = 120.0) -> Said:
        """A line typed at root's shell. Raises Broken where the machine is off."""
        leader = self.leader
        if leader is None:
            raise Broken(f"{self.name} is off: {line[:80]}")
        words = ["nsenter", "-t", str(leader), "-m", "-u", "-i", "-p", "-n", "-r", "-w"]
        environment = [f"{name}={value}" for name, value in SHELL.items()]
        done = tried([*words, "env", "-i", *environment, "/bin/bash", "-c", f"cd; {line}"], limit_s)
        return Said(done.returncode, done.stdout, done.stderr)

    def must(self, line: str, limit_s: float = 120.0) -> str:
        """The output of a line that has to succeed. Raises Broken."""
        said = self.type(line, limit_s)
        if said.code:
            raise Broken(f"{self.name}# {line[:160]}: exit {said.code}: {said.text[-500:]}")
        return said.out

    def up(self, within_s: float = BOOT_S) -> None:
        """Wait until the machine has booted. Raises Broken."""
        until(self._has_booted, within_s, f"{self.name} to boot", self.console)

    def journal(self, *words: str) -> str:
        """What its journal holds, also while it is off."""
        folder = self.root / "var" / "log" / "journal"
        argv = ["journalctl", "-D", str(folder), "--no-pager", "-q", *words]
        return call(argv, 60.0, PLAIN)

    def console(self) -> str:
        """What it last wrote to its console."""
        return log_of(self._console)

    def remove(self) -> None:
        """End, and unmount."""
        self.kill()
        unmount(self.root)

    @property
    def _console(self) -> Path:
        return self.place / "console"

    def _has_booted(self) -> bool:
        if self.leader is None:
            return False
        said = self.type("systemctl is-system-running", 20.0).out.strip()
        return said in ("running", "degraded")

    def _argv(self) -> list[str]:
        argv = ["systemd-nspawn", "-q", "-D", str(self.root), "-M", self.name]
        argv += ["--register=no", "--keep-unit", "-b", "--console=read-only"]
        argv += ["--kill-signal=SIGRTMIN+4", "--link-journal=no", "--resolv-conf=replace-host"]
        argv += ["--private-network"] if self._private else []
        return [*argv, *(f"--bind={source}:{to}" for source, to in self._binds.items())]


def until(
    true: Callable[[], object],
    within_s: float,
    what: str,
    more: Callable[[], str] = str,
    every_s: float = EVERY_S,
    *,
    heeds_end: bool = True,
) -> float:
    """Wait until it holds, and return for how long. Raises Broken after `within_s`, with `more` to look at.

    Also at the end of the program; what tidies up does not heed that.
    """
    began_s = time.monotonic()
    while not true():
        if heeds_end and ENDING.is_set():
            raise Broken(f"given up: {what}")
        if time.monotonic() - began_s > within_s:
            raise Broken(f"waited {within_s:g} s for {what}{_indented(more())}")
        time.sleep(every_s)
    return time.monotonic() - began_s


def _indented(text: str) -> str:
    return f": {' | '.join(text.split(chr(10))[-6:])}" if text else ""


def _first_of(nspawn: int) -> int | None:
    try:
        children = Path(f"/proc/{nspawn}/task/{nspawn}/children").read_text().split()
    except OSError:
        return None
    return next((int(pid) for pid in children if _is_first(int(pid))), None)


def _end(leader: int) -> None:
    """KILL to the PID 1 of a machine; the kernel ends the rest of it."""
    with suppress(ProcessLookupError):
        os.kill(leader, signal.SIGKILL)
    until(lambda: not _is_first(leader), DIE_S, f"process {leader} to die", heeds_end=False)


def _is_first(pid: int) -> bool:
    """Whether it is PID 1 of a namespace of its own."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    ids = next((line for line in status.splitlines() if line.startswith("NSpid:")), "")
    return len(ids.split()) > 2 and ids.split()[-1] == "1"
