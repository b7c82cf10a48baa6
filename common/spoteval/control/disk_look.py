"""What lies at the place of the durable disk, before it is adopted: read only."""

import os
from dataclasses import dataclass
from pathlib import Path

from spoteval.files import read_record
from spoteval.machine.disk import Mount, label_of, mount_at, uuid_of, whole_disks
from spoteval.paths import DurablePaths
from spoteval.shape import Reading, Table, Unreadable

NAMES = 6
_SYSTEM = (Path("/"), Path("/boot"), Path("/boot/efi"), Path("/usr"))


@dataclass(frozen=True, slots=True)
class DiskLook:
    """A filesystem at a place, and what a person needs to know it again."""

    path: Path
    mount: Mount | None
    uuid: Reading[str] = ""
    label: str | None = None
    size: int = 0
    used: int = 0
    names: tuple[str, ...] = ()
    more: int = 0
    """Further names."""
    with_system: str | None = None
    """The system's mount point that is on the same disk."""
    writable: bool = True
    sentinel: Reading[Table | None] = None

    @property
    def has_uuid(self) -> str | None:
        """Its UUID where it has one."""
        return None if isinstance(self.uuid, Unreadable) else self.uuid or None


def look_at(path: Path) -> DiskLook:
    """Look, and change nothing. Raises OSError where the place cannot be read."""
    mount = mount_at(path)
    if isinstance(mount, Unreadable):
        raise OSError(0, mount.why)
    if mount is None:
        return DiskLook(path, None)
    room = os.statvfs(path)
    names = sorted(one.name for one in path.iterdir() if one.name != "lost+found")
    return DiskLook(
        path=path,
        mount=mount,
        uuid=uuid_of(mount.device),
        label=label_of(mount.device),
        size=room.f_blocks * room.f_frsize,
        used=(room.f_blocks - room.f_bfree) * room.f_frsize,
        names=tuple(names[:NAMES]),
        more=max(0, len(names) - NAMES),
        with_system=_with_system(path, mount),
        writable=not mount.read_only and os.access(path, os.W_OK),
        sentinel=read_record(DurablePaths(path).sentinel),
    )


def _with_system(path: Path, mount: Mount) -> str | None:
    """The mount point of the system that shares a device or a disk with it: what the machine boots from."""
    for point in _SYSTEM:
        if point.exists() and point.stat().st_dev == path.stat().st_dev:
            return str(point)
        other = mount_at(point)
        if isinstance(other, Mount) and whole_disks(other.device) & whole_disks(mount.device):
            return str(point)
    return None
