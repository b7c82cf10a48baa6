"""Forbids what a test has not declared: processes, name look-ups, sleeping.

An audit hook sees the first two below every library, also through C code; it can not be removed,
so one is installed per process and asks whether the guard is armed at the moment. Sleeping has
no audit event before Python 3.13: there the function itself is replaced, also for good.
"""

import ipaddress
import sys
import time
from typing import SupportsIndex

PROCESS_EVENTS = frozenset(
    ["subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system"]
)
LOOKUP_EVENTS = frozenset(["socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"])
SLEEP = "guard.sleep"  # not CPython's own name, which 3.13 raises besides


class Undeclared(BaseException):
    """A test did what it did not declare. Not an Exception: product code must not swallow it."""


def _asks_resolver(host: object) -> bool:
    """Whether this host makes the resolver send a packet: not localhost, not an address."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if not isinstance(name, str) or name in ("", "localhost"):
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return True
    return False


def forbidden(event: str, args: tuple[object, ...]) -> str | None:
    """What this audit event does that must be declared, as words; None when it is harmless."""
    if event in PROCESS_EVENTS:
        return f"starts a process ({event} {args[0] if args else ''!r})"
    if event in LOOKUP_EVENTS and _asks_resolver(args[0]):
        return f"asks the resolver for {args[0]!r}"
    return f"sleeps {args[0]} s" if event == SLEEP else None


class Guard:
    """Collects and raises, while armed; an Undeclared raised in a thread is reported later."""

    def __init__(self) -> None:
        self.armed = False
        self.violations: list[str] = []

    def take(self) -> list[str]:
        """The violations since the last call."""
        found, self.violations = self.violations, []
        return found

    def hook(self, event: str, args: tuple[object, ...]) -> None:
        """The audit hook. Raises Undeclared."""
        if not self.armed:
            return
        what = forbidden(event, args)
        if what is not None:
            self.violations.append(what)
            raise Undeclared(f'{what}, without @pytest.mark.runs("reason")')


def install(guard: Guard) -> None:
    """Listen for the rest of the process."""
    sys.addaudithook(guard.hook)
    really_sleep = time.sleep

    def sleep(seconds: SupportsIndex | float, /) -> None:
        guard.hook(SLEEP, (seconds,))
        really_sleep(seconds)

    time.sleep = sleep
