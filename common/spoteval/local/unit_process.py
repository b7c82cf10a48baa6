"""One unit's life on a local node: start, readiness, watchdog, stop and restart, as systemd does them."""

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from spoteval.clock import Now
from spoteval.local.journal import Journal
from spoteval.local.notify import NotifySocket
from spoteval.local.unit_file import Unit
from spoteval.machine import process
from spoteval.machine.cgroup import MARK, MarkedProcesses
from spoteval.machine.process import Child
from spoteval.machine.unit import OFF
from spoteval.shape import Unreadable


class Status(StrEnum):
    """systemd's words. WAITING: the unit restarts in a moment."""

    INACTIVE = "inactive"
    ACTIVATING = "activating"
    ACTIVE = "active"
    DEACTIVATING = "deactivating"
    WAITING = "auto-restart"
    FAILED = "failed"


DOWN = frozenset([Status.INACTIVE, Status.FAILED])


@dataclass(frozen=True, slots=True)
class Host:
    """What all units of one host share."""

    environment: Mapping[str, str]
    marked: MarkedProcesses
    journal: Journal


class UnitProcess:
    """The process of one unit. Nothing here waits: `tick` moves it on, many times a second."""

    def __init__(self, unit: Unit, host: Host) -> None:
        self.unit = unit
        self.status = Status.INACTIVE
        self._host = host
        self._child: Child | None = None
        self._notify: NotifySocket | None = None
        self._due_s: float | None = None  # when the start, stop or rest before a restart ends
        self._fed_s = 0.0  # the last sign of life
        self._asked_to_stop = False
        self._result = ""  # why the unit failed; empty while it has not
        self._told = frozenset[int]()

    @property
    def pid(self) -> int | None:
        """Its main process, until it has been waited for."""
        return None if self._child is None else self._child.pid

    def start(self, now: Now) -> None:
        """Begin the start; a failure to do so is a failed unit, not an exception."""
        self._asked_to_stop, self._result, self._told = False, "", frozenset()
        self._notify = NotifySocket() if self.unit.type == "notify" else None
        argv = self.unit.commands[-1].argv
        try:
            self._child = process.spawn(argv, self._environment(), output_pipe=True)
        except OSError as error:
            self._result = f"{argv[0]}: {error.strerror}"
            self._down(now)
            return
        if self._child.stdout is not None:
            os.set_blocking(self._child.stdout.fileno(), False)
        self._fed_s, self._due_s = now.mono_s, _later(now, self.unit.start_timeout_s)
        at_once = self.unit.type in ("simple", "exec")
        self._enter(Status.ACTIVE if at_once else Status.ACTIVATING, now)

    def stop(self, now: Now) -> None:
        """Begin the stop. A unit that is stopping already is left to it."""
        self._asked_to_stop = True
        if self.status is Status.WAITING:
            self._enter(Status.INACTIVE, now)
        elif self.status in (Status.ACTIVATING, Status.ACTIVE):
            self._begin_stop(now)

    def tick(self, now: Now) -> None:
        """Take what was written and said, and go on to what is due."""
        self._take_output(now)
        self._take_messages(now)
        steps: dict[Status, Callable[[Now], None]] = {
            Status.ACTIVATING: self._activating,
            Status.ACTIVE: self._active,
            Status.DEACTIVATING: self._deactivating,
            Status.WAITING: self._waiting,
        }
        if self.status in steps:
            steps[self.status](now)

    def forget(self, now: Now) -> None:
        """The machine is off: the processes were killed from outside, the unit is as never started."""
        if self._child is not None:
            self._child.wait(5.0)
        self._take_output(now)
        self._close()
        self.status, self._asked_to_stop = Status.INACTIVE, True
        self._host.journal.say(self.unit.name, OFF, now)

    def _activating(self, now: Now) -> None:
        code = self._code()
        if code is not None:
            is_done = self.unit.type == "oneshot" and code in self.unit.success
            self._result = "" if is_done else f"ended with {code} before it was ready"
            self._begin_stop(now)
        elif self._is_due(now):
            self._result = "start timed out"
            self._begin_stop(now)

    def _active(self, now: Now) -> None:
        code, limit_s = self._code(), self.unit.watchdog_s
        if code is not None:
            self._result = "" if code in self.unit.success else f"ended with {code}"
            self._begin_stop(now)
        elif limit_s is not None and now.mono_s - self._fed_s > limit_s:
            self._result = f"watchdog: no sign of life for {limit_s:g} s"
            self._signal_main(signal.SIGABRT)
            self._begin_stop(now)

    def _deactivating(self, now: Now) -> None:
        if self._code() is None:
            if self._is_due(now):
                self._result = self._result or "stop timed out"
                self._signal_all(signal.SIGKILL)
            return
        left = self._host.marked.members(self.unit.name)
        if not left:
            self._down(now)
        elif self.unit.kill_mode == "mixed" or self._is_due(now):
            self._signal_all(signal.SIGKILL)
        elif not isinstance(left, Unreadable):
            self._told |= process.send(left - self._told, self.unit.kill_signal)

    def _waiting(self, now: Now) -> None:
        if self._is_due(now):
            self.start(now)

    def _begin_stop(self, now: Now) -> None:
        self._due_s = _later(now, self.unit.stop_timeout_s)
        self._enter(Status.DEACTIVATING, now)
        if self.unit.kill_mode == "mixed":
            self._signal_main(self.unit.kill_signal)
        else:
            self._signal_all(self.unit.kill_signal)

    def _down(self, now: Now) -> None:
        self._take_output(now)
        code = self._code() or 0
        self._close()
        if not self._asked_to_stop and self.unit.restarts_after(code, clean=not self._result):
            self._due_s = now.mono_s + self.unit.restart_s
            self._enter(Status.WAITING, now)
        else:
            self._enter(Status.FAILED if self._result else Status.INACTIVE, now)

    def _enter(self, status: Status, now: Now) -> None:
        self.status = status
        self._host.journal.say(self.unit.name, " ".join([status, self._result]).strip(), now)

    def _take_output(self, now: Now) -> None:
        stdout = self._child.stdout if self._child is not None else None
        if stdout is None or stdout.closed:
            return
        with suppress(BlockingIOError):
            while data := os.read(stdout.fileno(), 65536):
                self._host.journal.take(self.unit.name, data, now)

    def _take_messages(self, now: Now) -> None:
        if self._notify is None or self._child is None:
            return
        for key, value in self._notify.messages(self._child.pid):
            if (key, value) == ("READY", "1") and self.status is Status.ACTIVATING:
                self._fed_s = now.mono_s
                self._enter(Status.ACTIVE, now)
            elif (key, value) == ("WATCHDOG", "1"):
                self._fed_s = now.mono_s
            elif key == "EXTEND_TIMEOUT_USEC" and value.isdigit() and self._due_s is not None:
                self._due_s = max(self._due_s, now.mono_s + int(value) / 1e6)

    def _environment(self) -> dict[str, str]:
        mark = {MARK: f"{self._host.marked.root}:{self.unit.name}"}
        notify = {} if self._notify is None else {"NOTIFY_SOCKET": self._notify.address}
        if self.unit.watchdog_s is not None:
            notify["WATCHDOG_USEC"] = str(round(self.unit.watchdog_s * 1e6))
        return {**self._host.environment, **self.unit.environment, **notify, **mark}

    def _code(self) -> int | None:
        return self._child.poll() if self._child is not None else 0

    def _is_due(self, now: Now) -> bool:
        return self._due_s is not None and now.mono_s >= self._due_s

    def _signal_main(self, signum: int) -> None:
        if self._child is not None:
            self._child.send(signum)

    def _signal_all(self, signum: int) -> None:
        members = self._host.marked.members(self.unit.name)
        if not isinstance(members, Unreadable):
            self._told |= process.send(members, signum)

    def _close(self) -> None:
        if self._notify is not None:
            self._notify.close()
        if self._child is not None and self._child.stdout is not None:
            self._child.stdout.close()
        self._child = self._notify = None


def _later(now: Now, seconds: float | None) -> float | None:
    return None if seconds is None else now.mono_s + seconds
