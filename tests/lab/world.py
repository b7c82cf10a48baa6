"""Two machines, a store, a disk and a cloud: what a person has before spoteval comes, and after."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab import disk as disks
from lab.market import Cloud, driven
from lab.nspawn import Nspawn, until
from lab.person import Plan, bring, guest_file, restarter_file
from lab.root import archives, clean, with_dependencies, with_harness
from s3_server import free_port
from spoteval.local.market import Weather
from spoteval.local.weather import Calm

STORE = 'url = "file:///srv/evals"\n'
AGENTS = ("shutdown-hook", "publication-follower", "boot-resume", "idle-guard", "end-handler")
UNITS = tuple(f"spoteval-{agent}.service" for agent in AGENTS)
RUN = "lab-1"
_TMPFILES = "d /dev/disk/by-uuid 0755\nL /dev/disk/by-uuid/{uuid} - - - - ../../{device}\n"


@dataclass(frozen=True, slots=True)
class Kit:
    """The package, a newer build of it, and the files of one that is installed."""

    deb: Path
    newer: Path
    product: Path


@dataclass(slots=True)
class World:
    """What there is. Both machines share this host's network, so what listens on loopback is seen by both."""

    place: Path
    plan: Plan
    guest: Nspawn
    restarter: Nspawn
    disk: disks.Disk
    cloud: Cloud
    store: Path
    port: int
    kit: Kit

    @property
    def durable(self) -> Path:
        """The guest's spoteval directory on its disk, seen from here, also while the guest is off."""
        return self.disk.point / "spoteval"

    @property
    def run(self) -> Path:
        """The directory of the run."""
        return self.durable / "runs" / RUN


@contextmanager
def world(
    place: Path,
    kit: Kit,
    plan: Plan,
    weather: Weather | None = None,
    seed: int = 0,
    *,
    installed: bool = True,
    private: bool = False,
) -> Iterator[World]:
    """Two machines, clean or with the package, and the guest's disk; both are up, the guest by the market's leave.

    A `private` guest has a network of its own, which leads nowhere.
    """
    with ExitStack() as stack:
        found = _laid(place, kit, plan, stack, installed=installed, private=private)
        stack.enter_context(
            driven(found.cloud, found.guest, weather or Calm(), plan.window_s, seed)
        )
        found.restarter.boot()
        found.cloud.start()
        found.restarter.up()
        found.guest.up()
        yield found


def _laid(
    place: Path, kit: Kit, plan: Plan, stack: ExitStack, *, installed: bool, private: bool
) -> World:
    disk = disks.made(place / "disk")
    stack.callback(disk.remove)
    store, cloud = place / "store", place / "cloud"
    for folder in (store, cloud):
        folder.mkdir()
        folder.chmod(0o777)
    port = free_port()
    layers = [clean() / "root"]
    layers += [with_dependencies() / "upper", kit.product] if installed else []
    shared = {store: "/srv/evals", kit.deb.parent: "/srv/deb"}
    shared |= {} if installed else {_archives(stack, place): "/var/cache/apt/archives"}
    seen = {**shared, cloud: "/srv/cloud"}
    restarter = _machine(stack, Nspawn("restarter", place / "restarter", layers, seen, cloud))
    device = Path(disk.device)
    own = {**shared, disk.point: "/mnt/durable", device: str(device)}
    layers = [*layers, with_harness() / "upper"]
    node = Nspawn("gpu-1", place / "gpu-1", layers, own, disk.point, private=private)
    guest = _machine(stack, node)
    tmpfiles = _TMPFILES.format(uuid=disk.uuid, device=device.name)
    write(guest, "/etc/tmpfiles.d/udev.conf", tmpfiles)
    bring(guest.root, disk.point, plan, port)
    return World(place, plan, guest, restarter, disk, Cloud(cloud), store, port, kit)


def _archives(stack: ExitStack, place: Path) -> Path:
    """What apt has fetched before, in a place of its own: apt locks it. What it fetches now is kept in turn."""
    own = place / "archives"
    shutil.copytree(archives(), own)
    stack.callback(lambda: [shutil.copy(deb, archives()) for deb in own.glob("*.deb")])
    return own


def _machine(stack: ExitStack, machine: Nspawn) -> Nspawn:
    """Removed when all is over."""
    stack.callback(machine.remove)
    name_machine(machine)
    return machine


def name_machine(machine: Nspawn) -> None:
    """Give it a name of its own and a journal that is kept."""
    (machine.root / "var" / "log" / "journal").mkdir(parents=True, exist_ok=True)
    write(machine, "/etc/hostname", f"{machine.name}\n")
    write(machine, "/etc/hosts", f"127.0.0.1 localhost {machine.name}\n")


def set_up(world: World) -> None:
    """Both hosts, with a store that both see, as the documents say it."""
    set_up_restarter(world)
    set_up_guest(world)


def set_up_restarter(world: World) -> None:
    """The host file, what its unit may write, and the unit."""
    host = world.restarter
    host.must("chown spoteval: /srv/evals")
    write(host, "/etc/spoteval/config.toml", restarter_file(world.plan, STORE))
    unit = "/etc/systemd/system/spoteval-restarter.service.d/store.conf"
    write(host, unit, "[Service]\nReadWritePaths=/srv/evals /srv/cloud\n")
    host.must("systemctl daemon-reload && systemctl enable --now spoteval-restarter")


def set_up_guest(world: World) -> None:
    """The user, the host file, the disk, and the units."""
    host = world.guest
    host.must("useradd --create-home eval && chown -R eval: /mnt/durable/evals")
    host.must("install -D -m 600 /root/model-key /etc/spoteval/credentials/model-key")
    text = guest_file(world.plan, STORE, world.disk.uuid, world.port)
    write(host, "/etc/spoteval/config.toml", text)
    host.must("spoteval setup guest --adopt --write-fstab")
    host.must("systemctl enable --now policy.service")
    host.must(f"systemctl enable --now {' '.join(UNITS)}")
    until((world.durable / "boot.json").exists, 60.0, "the boot to be on record")


def write(host: Nspawn, path: str, text: str) -> None:
    """A file of a machine, as `tee` writes it."""
    target = host.root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def begin(world: World) -> None:
    """The run begins."""
    world.guest.must(f"spoteval run new {RUN} && spoteval run start {RUN}")
