"""How much the machine reads, writes and transfers, from the kernel's own counters."""

from dataclasses import dataclass
from pathlib import Path

from spoteval.shape import Reading, Unreadable

DISKSTATS, BLOCK, NET = Path("/proc/diskstats"), Path("/sys/block"), Path("/proc/net/dev")
_SECTOR = 512  # the unit of /proc/diskstats, whatever the disk's own is
_READ, _WRITTEN = 5, 9
_RECEIVED, _SENT = 0, 8
# Bytes that only pass between processes of this machine, or are counted at the real interface too.
_INNER = ("lo", "veth", "docker", "br-", "virbr", "cni", "tun", "wg")


@dataclass(frozen=True, slots=True)
class Counter:
    """Bytes since boot, and when they were counted on the clock of `Mark.mono_s`."""

    bytes: int
    at_s: float


def disk_bytes(diskstats: Path = DISKSTATS, block: Path = BLOCK) -> Reading[int]:
    """Bytes read from and written to real disks since boot."""
    try:
        real = {link.name for link in block.iterdir() if "/virtual/" not in str(link.resolve())}
        rows = [line.split() for line in diskstats.read_text().splitlines()]
        sectors = (int(row[_READ]) + int(row[_WRITTEN]) for row in rows if row[2] in real)
        return _SECTOR * sum(sectors)
    except OSError as error:
        return Unreadable(f"{error.filename}: {error.strerror}")
    except (ValueError, IndexError):
        return Unreadable(f"{diskstats}: not the kernel's form")


def network_bytes(net: Path = NET) -> Reading[int]:
    """Bytes received and sent since boot, but for what stays within the machine."""
    try:
        rows = [line.partition(":") for line in net.read_text().splitlines()[2:]]
        outer = [rest.split() for name, _, rest in rows if not name.strip().startswith(_INNER)]
        return sum(int(row[_RECEIVED]) + int(row[_SENT]) for row in outer)
    except OSError as error:
        return Unreadable(f"{net}: {error.strerror}")
    except (ValueError, IndexError):
        return Unreadable(f"{net}: not the kernel's form")


def rate(before: Reading[Counter], after: Reading[Counter]) -> Reading[float]:
    """Bytes a second between two counts."""
    if isinstance(before, Unreadable):
        return before
    if isinstance(after, Unreadable):
        return after
    passed_s = after.at_s - before.at_s
    if passed_s <= 0:
        return Unreadable("no time passed between two counts")
    return max(0, after.bytes - before.bytes) / passed_s
