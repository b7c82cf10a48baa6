"""How busy the machine's processors are, from the kernel's own counters."""

from dataclasses import dataclass
from pathlib import Path

from spoteval.shape import Reading, Unreadable

_STAT = Path("/proc/stat")
_COUNTED = 8  # user nice system idle iowait irq softirq steal; guest time is in user already
_IDLE, _IOWAIT = 3, 4


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Ticks since boot, over all processors: all of them, and those in which something ran."""

    total: int
    busy: int


def cpu_times(stat: Path = _STAT) -> Reading[CpuTimes]:
    """The counters now."""
    try:
        first = stat.read_text().partition("\n")[0].split()
        ticks = [int(field) for field in first[1 : 1 + _COUNTED]]
    except OSError as error:
        return Unreadable(f"{stat}: {error.strerror}")
    except ValueError as error:
        return Unreadable(f"{stat}: {error}")
    if first[:1] != ["cpu"] or len(ticks) <= _IOWAIT:
        return Unreadable(f"{stat}: its first line counts no processors")
    return CpuTimes(sum(ticks), sum(ticks) - ticks[_IDLE] - ticks[_IOWAIT])


def cpu_share(before: Reading[CpuTimes], after: Reading[CpuTimes]) -> Reading[float]:
    """The share of the machine, 0 to 1, that ran something between two readings."""
    if isinstance(before, Unreadable):
        return before
    if isinstance(after, Unreadable):
        return after
    total = after.total - before.total
    if total <= 0:
        return Unreadable("no tick passed between two readings")
    return min(1.0, max(0.0, (after.busy - before.busy) / total))
