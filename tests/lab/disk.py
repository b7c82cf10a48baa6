"""A durable disk: an image on a loop device, with a filesystem and a UUID of its own."""

import uuid
from dataclasses import dataclass
from pathlib import Path

from lab.shell import call, tried

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


def made(place: Path) -> Disk:
    """A new disk below `place`."""
    place.mkdir(parents=True, exist_ok=True)
    image, point, own = place / "image", place / "mounted", str(uuid.uuid4())
    call(["truncate", "--size", SIZE, str(image)])
    call(["mkfs.ext4", "-q", *LAZY, "-L", "durable", "-U", own, str(image)])
    device = call(["losetup", "--find", "--show", str(image)]).strip()
    point.mkdir()
    call(["mount", device, str(point)])
    return Disk(device, own, point)
