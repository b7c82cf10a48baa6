"""The clocks of one virtual host: monotonic time is true, wall time only while the clock is synchronised."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from restarter_story import NOON
from spoteval.clock import Now

JUMP_S = 7200.0


@dataclass
class VirtualClock:
    """`seconds` is the true time of the world."""

    host: str
    seconds: Callable[[], float]
    boot: int = 1
    booted_s: float = 0.0
    off_s: float = 0.0
    synced_from_s: float | None = None

    def __call__(self) -> Now:
        """What the host's processes read."""
        seconds = self.seconds()
        synced = self.synced
        wall = NOON + timedelta(seconds=seconds + (0.0 if synced else self.off_s))
        return Now(wall, seconds - self.booted_s, f"{self.host}-{self.boot}", synced)

    @property
    def synced(self) -> bool:
        """Whether the wall clock is right, and the kernel says so."""
        return self.synced_from_s is None or self.seconds() >= self.synced_from_s

    def jump(self, by_s: float, for_s: float) -> None:
        """The wall clock is set by so much: the kernel calls it unsynchronised until it is right again."""
        self.off_s = by_s
        self.synced_from_s = self.seconds() + for_s

    def reboot(self) -> None:
        """Another boot; whether the clock is right does not change by that."""
        self.boot, self.booted_s = self.boot + 1, self.seconds()
