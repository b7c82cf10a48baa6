"""What an agent says to its service manager, and the one question that it asks."""

import os
from collections.abc import Mapping
from pathlib import Path

from sdnotify import SystemdNotifier

from spoteval.machine import memory
from spoteval.machine.process import run
from spoteval.shape import Reading, Unreadable

_NOT_STOPPING = frozenset(["initializing", "starting", "running", "degraded", "maintenance"])
_REBOOTS = ("reboot.target", "kexec.target", "soft-reboot.target")


class Notifier:
    """Messages to systemd. Without a manager (a shell, a test) they go nowhere and nothing fails.

    Nor does one that does not listen hold anybody up: what it has no room for is lost, all but READY=1.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._notifier = SystemdNotifier()
        self.watchdog_s = _watchdog_s(environ.get("WATCHDOG_USEC", ""))

    def ready(self, status: str = "") -> None:
        """The service is up: units ordered after it may start."""
        memory.give_back()
        self._say("READY=1", f"STATUS={status}" if status else "")
        if self._notifier.socket is not None:
            self._notifier.socket.setblocking(False)  # noqa: FBT003 - the socket's own signature

    def status(self, text: str) -> None:
        """One line for `systemctl status`."""
        self._say(f"STATUS={text}")

    def watchdog(self) -> None:
        """A sign of life; due every `watchdog_s` (None where the unit wants none)."""
        self._say("WATCHDOG=1")

    def extend_timeout(self, seconds: float) -> None:
        """Ask for `seconds` from now before the running start or stop counts as hung."""
        self._say(f"EXTEND_TIMEOUT_USEC={round(seconds * 1e6)}")

    def stopping(self) -> None:
        """The service has begun to stop."""
        self._say("STOPPING=1")

    def _say(self, *lines: str) -> None:
        self._notifier.notify("\n".join(line for line in lines if line))


def is_stopping(stopping_file: Path | None = None, timeout_s: float = 2.0) -> Reading[bool]:
    """Whether the machine is shutting down, as opposed to one unit being restarted.

    On a local node the driver writes `stopping_file` at the power button; elsewhere systemd is
    asked, which answers `stopping` from the first instant of a shutdown.
    """
    if stopping_file is not None:
        return stopping_file.exists()
    answer = run(["systemctl", "is-system-running"], timeout_s)
    word = answer.out.strip()
    if word == "stopping" or word in _NOT_STOPPING:
        return word == "stopping"
    reason = f"timeout:{timeout_s:g}s" if answer.timed_out else (answer.err.strip() or word)
    return Unreadable(f"systemctl is-system-running: {reason or 'no answer'}")


def is_rebooting(stopping_file: Path | None = None, timeout_s: float = 0.3) -> Reading[bool]:
    """Whether the shutdown that goes on is a reboot: one that was asked for on the machine itself, for a power button
    never is one. A local node does not reboot."""
    if stopping_file is not None:
        return False
    answer = run(["systemctl", "list-jobs", "--no-legend", "--plain", *_REBOOTS], timeout_s)
    if answer.ok:
        return any(target in answer.out for target in _REBOOTS)
    reason = f"timeout:{timeout_s:g}s" if answer.timed_out else answer.err.strip()
    return Unreadable(f"systemctl list-jobs: {reason or 'no answer'}")


def _watchdog_s(text: str) -> float | None:
    """Half of the time that systemd allows, as sd_watchdog_enabled(3) advises."""
    return int(text) / 2e6 if text.isdigit() and int(text) > 0 else None
