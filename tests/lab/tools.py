"""What the lab needs on this machine: root, nspawn, loop devices, and Debian packages that it installs itself."""

import os
import tempfile
from pathlib import Path

from lab.shell import Broken, Skipped, call, has, tried

# program -> the package that brings it
TO_BOOT = {
    "systemd-nspawn": "systemd-container",
    "debootstrap": "debootstrap",
    "mkfs.ext4": "e2fsprogs",
    "losetup": "mount",
    "nsenter": "util-linux",
    "journalctl": "systemd",
}
TO_BUILD = (
    *("build-essential", "debhelper", "dh-python", "pybuild-plugin-pyproject", "python3-all"),
    *("python3-hatchling", "python3-click", "python3-click-man", "scdoc"),
)
BESIDE = ("openssh-server",)  # what the tunnel is tried against; no machine of the lab needs it
INSTALL_S = 900.0


def ready() -> None:
    """Install what is missing. Raises Skipped where this machine cannot run the lab at all."""
    if os.geteuid() != 0:
        raise Skipped("machines are booted by root, this is not root")
    if not has("apt-get"):
        raise Skipped("no apt-get: the lab's machines are Debian's")
    missing = [package for program, package in TO_BOOT.items() if not has(program)]
    missing += [package for package in (*TO_BUILD, *BESIDE) if not _is_installed(package)]
    if missing:
        _install(missing)
    _can_overlay()
    if not Path("/dev/loop-control").exists():
        raise Skipped("no /dev/loop-control: the durable disk is a loop device")


def _is_installed(package: str) -> bool:
    said = tried(["dpkg-query", "-W", "-f=${db:Status-Status}", package])
    return said.stdout == "installed"


def _install(packages: list[str]) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    argv = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    try:
        call(["apt-get", "update", "-q"], INSTALL_S, env)
        call(argv, INSTALL_S, env)
    except Broken as error:
        raise Skipped(f"cannot install {', '.join(packages)}: {error}") from None


def _can_overlay() -> None:
    """An overlay as each machine gets one; some containers may not mount."""
    with tempfile.TemporaryDirectory(prefix="lab-try-") as name:
        folder = Path(name)
        parts = {part: folder / part for part in ("lower", "upper", "work", "merged")}
        for part in parts.values():
            part.mkdir()
        options = ",".join(f"{one}dir={parts[one]}" for one in ("lower", "upper", "work"))
        done = tried(["mount", "-t", "overlay", "lab", "-o", options, str(parts["merged"])])
        if done.returncode:
            raise Skipped(f"cannot mount an overlay: {done.stderr.strip()[-160:]}")
        call(["umount", str(parts["merged"])])
