"""What every machine of a campaign begins from: a disk with an active run, a store, an image, layers."""

from dataclasses import dataclass, replace
from pathlib import Path

from lab import disk as disks
from lab import package
from lab.image import HOST_ADDRESS, Image, image
from lab.nspawn import Nspawn
from lab.overlay import mounted
from lab.root import clean, with_dependencies, with_product
from power.guest import RUN, UNITS, Link, Plan, bring, configure
from power.worlds import World, Worlds
from s3_server import free_port

DISK_SIZE = "96M"
SERVER_PORT = 8000
EMULATED_LOOK = "30s"
"""Each look of the idle-guard starts children, which cost an emulated processor ten seconds."""
_TMPFILES = "d /dev/disk/by-uuid 0755\nL /dev/disk/by-uuid/{uuid} - - - - ../../{device}\n"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A guest that is set up, with its run active and not begun."""

    layers: tuple[Path, ...]
    disk: Path
    uuid: str
    world: World
    plan: Plan


def layers(scratch: Path) -> tuple[Path, ...]:
    """Debian, what the package depends on, and the package of this checkout."""
    product = with_product(package.build(scratch / "deb"), scratch / "product")
    return (clean() / "root", with_dependencies() / "upper", product)


def prepared(
    below: tuple[Path, ...], worlds: Worlds, plan: Plan, place: Path, *, has_run: bool = True
) -> Prepared:
    """Set up as docs/setup-guest.md says, on a machine by nspawn, with an active run or none; then switched off."""
    place.mkdir(parents=True, exist_ok=True)
    world, disk = worlds.new(place.name), disks.made(place / "disk", DISK_SIZE)
    endpoint = f"http://127.0.0.1:{world.serve()}"
    try:
        host = machine("setup", place / "host", below, disk)
        try:
            bring(host.root)
            configure(host.root, plan, Link(endpoint, free_port(), disk.uuid))
            _set_up(host, has_run)
        finally:
            host.remove()
    finally:
        disk.remove()
        world.close()
    upper = place / "host" / "upper"
    (upper / "etc" / "tmpfiles.d" / "udev.conf").unlink()
    return Prepared((*below, upper), place / "disk" / "image", disk.uuid, world, plan)


def machine(name: str, place: Path, below: tuple[Path, ...], disk: disks.Disk) -> Nspawn:
    """By nspawn, with this disk as its durable one."""
    device = Path(disk.device)
    binds = {disk.point: "/mnt/durable", device: str(device)}
    host = Nspawn(name, place, below, binds, disk.point)
    tmpfiles = host.root / "etc" / "tmpfiles.d" / "udev.conf"
    tmpfiles.parent.mkdir(parents=True, exist_ok=True)
    tmpfiles.write_text(_TMPFILES.format(uuid=disk.uuid, device=device.name))
    (host.root / "var" / "log" / "journal").mkdir(parents=True, exist_ok=True)
    (host.root / "etc" / "hostname").write_text("gpu-1\n")
    (host.root / "etc" / "hosts").write_text("127.0.0.1 localhost gpu-1\n")
    return host


def qemu_image(found: Prepared, place: Path, plan: Plan | None = None) -> Image:
    """The same machine for QEMU, whose store is at this host's loopback, as its own network has it."""
    link = Link(f"http://{HOST_ADDRESS}:1", SERVER_PORT, found.uuid)
    with mounted(found.layers, place / "own") as root:
        configure(root, replace(plan or found.plan, look=EMULATED_LOOK), link)
    return image((*found.layers, place / "own" / "upper"), place)


def at_store(world: World) -> str:
    """What the kernel's command line says of the store."""
    return f"lab.store={world.serve()}"


def _set_up(host: Nspawn, has_run: bool) -> None:
    host.boot()
    host.up()
    host.must("useradd --create-home eval && install -d -o eval /mnt/durable/evals")
    host.must("spoteval setup guest --adopt --write-fstab")
    if has_run:
        host.must(f"spoteval run new {RUN}")
        host.type(
            f"spoteval run start {RUN}"
        )  # says that no restarter knows of it yet: no agent runs here
        host.must(f"grep -x {RUN} /mnt/durable/spoteval/active")
    host.must(f"systemctl enable policy.service {' '.join(UNITS)}")
    host.must("sync -f /mnt/durable; rm -rf /var/log/journal/*")
    host.kill()
