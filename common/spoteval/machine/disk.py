"""Mounts and filesystem identities."""

import re
from dataclasses import dataclass
from pathlib import Path

from spoteval.shape import Reading, Unreadable

_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(
    r"\\([0-7]{3})"
)  # how the kernel writes blanks and backslashes; all else as it is
_BY_UUID = Path("/dev/disk/by-uuid")
_BY_LABEL = Path("/dev/disk/by-label")
_BLOCK = Path("/sys/class/block")


@dataclass(frozen=True, slots=True)
class Mount:
    """One mounted filesystem."""

    point: Path
    device: str
    kind: str
    read_only: bool


def mount_at(point: Path, mounts: Path = _MOUNTS) -> Reading[Mount | None]:
    """The filesystem mounted exactly at `point`; None where `point` is no mount point."""
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError as error:
        return Unreadable(f"{mounts}: {error.strerror}")
    found = [
        mount for line in lines if (mount := _parsed(line)) is not None and mount.point == point
    ]
    return found[-1] if found else None


def uuid_of(device: str, by_uuid: Path = _BY_UUID) -> Reading[str]:
    """The filesystem UUID of a device, as udev's links say."""
    try:
        links = {link.resolve(): link.name for link in by_uuid.iterdir()}
    except OSError as error:
        return Unreadable(f"{by_uuid}: {error.strerror} (no udev?)")
    found = links.get(Path(device).resolve())
    return found if found is not None else Unreadable(f"{device}: no UUID in {by_uuid}")


def label_of(device: str, by_label: Path = _BY_LABEL) -> str | None:
    """The label of a device's filesystem, None where it has none."""
    try:
        links = {link.resolve(): link.name for link in by_label.iterdir()}
    except OSError:
        return None
    return links.get(Path(device).resolve())


def whole_disks(device: str, block: Path = _BLOCK) -> frozenset[str]:
    """The disks that a device lies on: through partitions, and what is mapped over them. None for no block device."""
    name = Path(device).resolve().name
    place = block / name
    if not device.startswith("/dev/") or not place.exists():
        return frozenset()
    below = _names(place / "slaves")
    if below:
        return frozenset().union(*(whole_disks(f"/dev/{one}", block) for one in below))
    is_partition = (place / "partition").exists()
    return frozenset([place.resolve().parent.name if is_partition else name])


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []


def _parsed(line: str) -> Mount | None:
    own, _, rest = line.partition(" - ")
    fields, tail = own.split(" "), rest.split(" ")
    if len(fields) < 6 or len(tail) < 2:
        return None
    point = _OCTAL.sub(lambda found: chr(int(found[1], 8)), fields[4])
    # The kernel remounts the filesystem after an error, not the mount: it says so in the second list.
    options = {*fields[5].split(","), *(tail[2].split(",") if len(tail) > 2 else ())}
    return Mount(Path(point), tail[1], tail[0], "ro" in options)
