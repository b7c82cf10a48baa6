"""Two machines, a store, a disk and a cloud: what a person has before spoteval comes, and after."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab import disk as disks
from lab.market import Cloud, driven
from lab.nspawn import Nspawn
from lab.person import Plan, bring, guest_file, restarter_file
from lab.root import archives, clean, with_harness
from s3_server import free_port
from spoteval.local.market import Weather
from spoteval.local.weather import Calm

STORE = 'url = "file:///srv/evals"\n'
AGENTS = ("shutdown-hook", "publication-follower", "boot-resume", "idle-guard", "end-handler")
UNITS = tuple(f"spoteval-{agent}.service" for agent in AGENTS)
PATHS = ("spoteval-poweroff.path", "spoteval-start-run.path")
RUN = "lab-1"
_TMPFILES = "d /dev/disk/by-uuid 0755\nL /dev/disk/by-uuid/{uuid} - - - - ../../{device}\n"


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
    deb: Path

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
    place: Path, deb: Path, plan: Plan, weather: Weather | None = None, seed: int = 0
) -> Iterator[World]:
    """Two clean machines with the guest's disk; the restarter host is up, the guest is what the market says."""
    with ExitStack() as stack:
        found = _laid(place, deb, plan, stack)
        stack.enter_context(
            driven(found.cloud, found.guest, weather or Calm(), plan.window_s, seed)
        )
        found.restarter.boot()
        found.cloud.start()
        found.restarter.up()
        found.guest.up()
        yield found


def _laid(place: Path, deb: Path, plan: Plan, stack: ExitStack) -> World:
    disk = disks.made(place / "disk")
    stack.callback(disk.remove)
    store, cloud = place / "store", place / "cloud"
    for folder in (store, cloud):
        folder.mkdir()
        folder.chmod(0o777)
    port = free_port()
    shared = {store: "/srv/evals", archives(): "/var/cache/apt/archives", deb.parent: "/srv/deb"}
    base = [clean() / "root"]
    restarter = _machine(stack, "restarter", place, base, {**shared, cloud: "/srv/cloud"}, cloud)
    device = Path(disk.device)
    own = {**shared, disk.point: "/mnt/durable", device: str(device)}
    guest = _machine(stack, "gpu-1", place, [*base, with_harness() / "upper"], own, disk.point)
    tmpfiles = _TMPFILES.format(uuid=disk.uuid, device=device.name)
    (guest.root / "etc" / "tmpfiles.d" / "udev.conf").write_text(tmpfiles)
    bring(guest.root, disk.point, plan, port)
    return World(place, plan, guest, restarter, disk, Cloud(cloud), store, port, deb)


def _machine(
    stack: ExitStack,
    name: str,
    place: Path,
    layers: list[Path],
    binds: dict[Path, str],
    durable: Path,
) -> Nspawn:
    machine = Nspawn(name, place / name, layers, binds, durable)
    stack.callback(machine.remove)
    (machine.root / "etc" / "tmpfiles.d").mkdir(exist_ok=True)
    (machine.root / "var" / "log" / "journal").mkdir(parents=True, exist_ok=True)
    return machine


def install(world: World) -> None:
    """What the documents say, on both hosts, with a store that both see."""
    for host in (world.restarter, world.guest):
        host.must(f"apt-get install -y -q /srv/deb/{world.deb.name}", 600)
    set_up_restarter(world)
    set_up_guest(world)


def set_up_restarter(world: World) -> None:
    """The host file, what it may write, and its unit."""
    host = world.restarter
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
    host.must(f"systemctl enable --now {' '.join((*UNITS, *PATHS))}")


def write(host: Nspawn, path: str, text: str) -> None:
    """A file of a machine, as `tee` writes it."""
    target = host.root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def begin(world: World) -> None:
    """The run begins."""
    world.guest.must(f"spoteval run new {RUN} && spoteval run start {RUN}")
