"""A drill of a forced stop in QEMU: a kernel, a power button and a plug of its own, and a restarter by nspawn."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab import disk as disks
from lab import person
from lab.market import Cloud, driven
from lab.nspawn import Nspawn, until
from lab.qemu import Qemu
from lab.rehearsed import ONE_BOOT, by_guest, by_restarter
from lab.world import name_machine, write
from power.guest import INSTANCE, UNITS, Plan
from power.prepared import Prepared, at_store, layers, prepared, qemu_image
from power.worlds import KEYS, URL, Worlds
from s3_server import REGION
from show.drill_line import line_of
from show.lines import Line
from spoteval.local.weather import Calm

WHAT = "drill forced-stop in QEMU"
WINDOW_S, UP_S = 180.0, 400.0
"""An emulated processor is ten times slower, and so are the hook's steps."""
_STORE = 'url = "{url}"\nendpoint_url = "{endpoint}"\nregion = "{region}"\ncredential = "control"\n'
_KEYS = f"[default]\naws_access_key_id = {KEYS.access_key_id}\naws_secret_access_key = {KEYS.secret_access_key}\n"
_DROP_IN = """\
[Service]
ReadWritePaths=/srv/cloud
LoadCredential=control:/etc/spoteval/credentials/control
"""


@dataclass(frozen=True, slots=True)
class Lab:
    """Both machines, which are up, and the cloud that switches the guest on and off."""

    guest: Qemu
    restarter: Nspawn
    cloud: Cloud


def lines(place: Path) -> Iterator[Line]:
    """By the guest, then by the restarter host, on the same two machines."""
    with lab(place) as found:
        yield line_of(f"{WHAT}, by the guest", by_guest(found))
        yield line_of(f"{WHAT}, by the restarter", by_restarter(found))


@contextmanager
def lab(place: Path) -> Iterator[Lab]:
    """A guest that is set up and has no run; every agent on it has begun."""
    worlds = Worlds()
    plan = Plan(idle="1h", window=f"{WINDOW_S:g}s")
    found = prepared(layers(place), worlds, plan, place / "begin", has_run=False)
    disk = disks.copy(found.disk, place / "disk")
    words = at_store(found.world)
    guest = Qemu(INSTANCE, place / "guest", qemu_image(found, place / "image"), disk, words=words)
    cloud = Cloud(place / "cloud")
    cloud.files.root.mkdir()
    cloud.files.root.chmod(0o777)
    restarter = _restarter(place, found, cloud)
    try:
        with driven(cloud, guest, Calm(), WINDOW_S, seed=0):
            restarter.boot()
            cloud.start()
            _set_up(restarter, found)
            guest.up(UP_S)
            guest.must(f"systemctl is-active {' '.join(UNITS)}")
            yield Lab(guest, restarter, cloud)
    finally:
        restarter.remove()
        guest.remove()
        found.world.drop()


def _restarter(place: Path, found: Prepared, cloud: Cloud) -> Nspawn:
    """The package, and a way to the cloud."""
    below = found.layers[:-1]  # without the guest's own files
    root = cloud.files.root
    machine = Nspawn("restarter", place / "restarter", below, {root: "/srv/cloud"}, root)
    name_machine(machine)
    return machine


def _set_up(restarter: Nspawn, found: Prepared) -> None:
    restarter.up()
    restarter.must(ONE_BOOT)
    endpoint = f"http://127.0.0.1:{found.world.serve()}"
    store = _STORE.format(url=URL, endpoint=endpoint, region=REGION)
    write(restarter, "/etc/spoteval/credentials/control", _KEYS)
    text = person.restarter_file(person.Plan(window_s=WINDOW_S), store)
    write(restarter, "/etc/spoteval/config.toml", text)
    write(restarter, "/etc/systemd/system/spoteval-restarter.service.d/cloud.conf", _DROP_IN)
    restarter.must("chmod 600 /etc/spoteval/credentials/control && systemctl daemon-reload")
    restarter.must("systemctl enable --now spoteval-restarter")
    until(
        lambda: "decision=" in restarter.must("journalctl -u spoteval-restarter -o cat"),
        60.0,
        "the restarter's first look",
    )
