"""The layers of the lab's machines: a clean Debian 12, and above it what a user brings, an Inspect of their own."""

import re
import shutil
import sys
import tomllib
from pathlib import Path

from lab.cache import home, key, made
from lab.overlay import mounted
from lab.shell import PLAIN, Broken, call

SUITE = "bookworm"
# What any server image has, and nothing that spoteval depends on: `apt install` has to bring that.
PACKAGES = (
    *("systemd", "systemd-sysv", "dbus", "sudo", "iproute2", "procps", "ca-certificates"),
    *("python3-venv", "fdisk"),
)
FOR_MACHINES = ("--only-binary=:all:", "--python-version=3.11")
HARNESS = Path("/opt/eval/venv")
ROOT = Path(__file__).resolve().parent.parent.parent
BUILD_DEB = ROOT / "packaging" / "build-deb"
MAKE_S, PIP_S = 3600.0, 600.0
APT = PLAIN | {"DEBIAN_FRONTEND": "noninteractive"}
_SOURCES = ("sources.list", "sources.list.d")


def clean() -> Path:
    """Debian 12 as it comes from debootstrap, with the package sources of this machine."""
    return made(f"root-{key('1', SUITE, *PACKAGES)}", _clean)


def with_harness() -> Path:
    """The files that lie above `clean` once a user has made their environment at /opt/eval/venv."""
    return made(f"harness-{key('1', clean().name, *pins())}", _with_harness)


def with_dependencies() -> Path:
    """The files above `clean` once apt has brought what the package depends on."""
    return made(f"depends-{key('1', clean().name, *dependencies())}", _with_dependencies)


def dependencies() -> list[str]:
    """The Debian packages of the dependencies that pyproject.toml names, and the one that is recommended."""
    text = (ROOT / "packaging" / "debian" / "py3dist-overrides").read_text()
    return [*re.findall(r"\b(python3-\S+);", text), "python3-zstandard", "openssh-client"]


def with_product(deb: Path, place: Path) -> Path:
    """The files above `clean` and `with_dependencies` once the package is installed there."""
    layers = [clean() / "root", with_dependencies() / "upper"]
    with mounted(layers, place) as root:
        shutil.copy(deb, root / "root")
        install = ["apt-get", "install", "-y", "-q", f"/root/{deb.name}"]
        call(["chroot", str(root), *install], MAKE_S, APT)
        (root / "root" / deb.name).unlink()
    return place / "upper"


def wheels() -> Path:
    """What pipx would fetch, from whatever index this machine's pip has: a machine of the lab has none."""
    text = (ROOT / "pyproject.toml").read_text()
    return made(f"wheels-{key('2', text)}", _wheels)


def archives() -> Path:
    """What apt has fetched once is not fetched again."""
    place = home() / "archives"
    (place / "partial").mkdir(parents=True, exist_ok=True)
    return place


def pins() -> list[str]:
    """The harness that install.sh has, so that the lab's is the one that was tested."""
    text = (ROOT / "install.sh").read_text()
    version = re.search(r"^inspect=(\S+)$", text, re.MULTILINE)
    client = re.search(r"\b(openai==[0-9.]+)", text)
    if version is None or client is None:
        raise Broken("install.sh: no pins of the harness")
    return [f"inspect-ai=={version[1]}", client[1]]


def _clean(place: Path) -> None:
    root = place / "root"
    argv = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
    argv += [f"--cache-dir={archives()}", SUITE, str(root)]
    call(argv, MAKE_S)
    _same_sources(root / "etc" / "apt")
    (root / "etc" / "hostname").write_text("debian\n")
    call(["chroot", str(root), "apt-get", "update", "-q"], MAKE_S, PLAIN)
    (root / "etc" / "machine-id").write_text("")  # each machine makes its own


def _same_sources(apt: Path) -> None:
    """The sources and proxies of this machine, where it is of the same suite; else those of debootstrap."""
    own = Path("/etc/apt")
    if f"={SUITE}" not in Path("/etc/os-release").read_text():
        return
    found = [own / name for name in _SOURCES if (own / name).exists()]
    if not found:
        return
    (apt / "sources.list").unlink(missing_ok=True)
    for path in found:
        if path.is_dir():
            shutil.copytree(path, apt / path.name, dirs_exist_ok=True)
        else:
            shutil.copy(path, apt / path.name)
    said = call(["apt-config", "dump", "Acquire"])
    proxies = [line for line in said.splitlines() if "::Proxy" in line and not line.endswith('"";')]
    (apt / "apt.conf.d" / "90lab").write_text("\n".join(proxies) + "\n")


def _with_dependencies(place: Path) -> None:
    with mounted([clean() / "root"], place) as root:
        install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *dependencies()]
        call(["chroot", str(root), *install], MAKE_S, APT)
        call(["chroot", str(root), "apt-get", "clean"], MAKE_S, APT)


def _wheels(place: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    needed += project["project"]["optional-dependencies"]["inspect"]
    pip, folder = [sys.executable, "-m", "pip"], str(place)
    # sdnotify is one file of source and no wheel; the rest is taken for the machines' Python, not for this one's.
    # What pipx keeps for itself are the last three.
    call([*pip, "wheel", "-q", "--no-deps", "-w", folder, "sdnotify"], PIP_S)
    download = [*pip, "download", "-q", "-d", folder, "--find-links", folder, *FOR_MACHINES]
    call([*download, *needed, "pip", "setuptools", "wheel"], PIP_S)


def _with_harness(place: Path) -> None:
    """Wheels come through this machine's pip, whatever index it has; in the root there is none."""
    wheels = place / "wheels"
    download = [sys.executable, "-m", "pip", "download", "-q", "-d", str(wheels), *pins()]
    call([*download, *FOR_MACHINES], PIP_S)
    with mounted([clean() / "root"], place) as root:
        (root / "wheels").mkdir()
        call(["mount", "--bind", str(wheels), str(root / "wheels")])
        try:
            inside = ["chroot", str(root)]
            call([*inside, "python3", "-m", "venv", str(HARNESS)], PIP_S, PLAIN)
            pip = [str(HARNESS / "bin" / "pip"), "install", "-q", "--no-index", "--no-cache-dir"]
            call([*inside, *pip, "--find-links=/wheels", *pins()], PIP_S, PLAIN)
        finally:
            call(["umount", str(root / "wheels")])
        (root / "wheels").rmdir()
    shutil.rmtree(wheels)
