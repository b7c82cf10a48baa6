"""A durable disk: an image on a loop device, with a filesystem and a UUID of its own."""

import uuid
from dataclasses import dataclass
from pathlib import Path

from lab.shell import Broken, call, tried

SIZE = "64G"  # as far as anybody can tell: the image has holes
LAZY = ("-N", "65536", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1")


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk, formatted once and mounted on this host; machines see it by a bind."""

    device: str
    uuid: str
    point: Path

    def remove(self) -> None:
        """Unmount, and free the device."""
        if tried(["umount", str(self.point)]).returncode:
            tried(["umount", "--lazy", str(self.point)])
        tried(["losetup", "--detach", self.device])


def made(place: Path, size: str = SIZE) -> Disk:
    """A new disk below `place`."""
    place.mkdir(parents=True, exist_ok=True)
    image, own = place / "image", str(uuid.uuid4())
    call(["truncate", "--size", size, str(image)])
    call(
        ["mkfs.ext4", "-q", *(LAZY if size == SIZE else ()), "-L", "durable", "-U", own, str(image)]
    )
    return found(image, own, place / "mounted")


def found(image: Path, own: str, point: Path) -> Disk:
    """One that was made before: mounted, which also plays its journal."""
    device = call(["losetup", "--find", "--show", str(image)]).strip()
    point.mkdir(parents=True, exist_ok=True)
    try:
        call(["mount", device, str(point)])
    except Broken:
        tried(["losetup", "--detach", device])
        raise
    return Disk(device, own, point)


def copy(image: Path, to: Path) -> Path:
    """A disk of its own, with the same holes."""
    call(["cp", "--sparse=always", str(image), str(to)])
    return to
