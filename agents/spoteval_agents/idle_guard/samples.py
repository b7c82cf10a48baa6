"""Shares and rates: two readings of the kernel's counters, some time apart."""

from dataclasses import dataclass, field
from pathlib import Path

from spoteval.clock import Now
from spoteval.machine import io
from spoteval.machine.cpu import CpuTimes, cpu_share, cpu_times
from spoteval.machine.io import Counter
from spoteval.shape import Reading, Unreadable

OVER_S = 10.0
"""Over how long shares are taken: the start of a child of ours is no use of the machine."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Where the kernel counts."""

    stat: Path = Path("/proc/stat")
    diskstats: Path = io.DISKSTATS
    block: Path = io.BLOCK
    net: Path = io.NET


@dataclass(frozen=True, slots=True)
class Shares:
    """Of the processors 0 to 1; of disks and network bytes a second. None before the first is known."""

    cpu: Reading[float | None] = None
    disk_io: Reading[float | None] = None
    network: Reading[float | None] = None


@dataclass(frozen=True, slots=True)
class _Counted:
    at_s: float
    cpu: Reading[CpuTimes]
    disk: Reading[Counter]
    network: Reading[Counter]


@dataclass(slots=True)
class Sampler:
    """The newest shares that were taken over OVER_S or longer."""

    counters: Counters = field(default_factory=Counters)
    _before: _Counted | None = field(default=None, init=False)
    _shares: Shares = field(default_factory=Shares, init=False)

    def shares(self, now: Now) -> Shares:
        """The shares now. What cannot be read is known at once."""
        before = self._before
        if before is not None and now.mono_s - before.at_s < OVER_S:
            return self._shares
        after = self._before = self._counted(now.mono_s)
        self._shares = _blind(after) if before is None else _between(before, after)
        return self._shares

    def _counted(self, at_s: float) -> _Counted:
        counters = self.counters
        disk, net = (
            io.disk_bytes(counters.diskstats, counters.block),
            io.network_bytes(counters.net),
        )
        return _Counted(at_s, cpu_times(counters.stat), _counter(disk, at_s), _counter(net, at_s))


def _counter(count: Reading[int], at_s: float) -> Reading[Counter]:
    return count if isinstance(count, Unreadable) else Counter(count, at_s)


def _between(before: _Counted, after: _Counted) -> Shares:
    return Shares(
        cpu_share(before.cpu, after.cpu),
        io.rate(before.disk, after.disk),
        io.rate(before.network, after.network),
    )


def _blind(counted: _Counted) -> Shares:
    """After one reading only what failed is known."""
    return Shares(
        counted.cpu if isinstance(counted.cpu, Unreadable) else None,
        counted.disk if isinstance(counted.disk, Unreadable) else None,
        counted.network if isinstance(counted.network, Unreadable) else None,
    )
