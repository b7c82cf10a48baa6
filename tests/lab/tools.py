"""What the lab needs on this machine: root, nspawn, loop devices, and Debian packages that it installs itself."""

import os
import tempfile
from pathlib import Path

from lab.root import BUILD_DEB
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
TO_EMULATE = {"qemu-system-x86_64": "qemu-system-x86", "qemu-img": "qemu-utils"}
"""What only machines with a kernel of their own need."""
BESIDE = {"sshd": "openssh-server"}
"""What the tunnel is tried against; no machine of the lab needs it."""
INSTALL_S = 900.0


def ready(*, emulates: bool = False) -> None:
    """Install what is missing. Raises Skipped where this machine cannot run the lab at all."""
    if os.geteuid() != 0:
        raise Skipped("machines are booted by root, this is not root")
    if not has("apt-get"):
        raise Skipped("no apt-get: the lab's machines are Debian's")
    programs = (TO_BOOT | (TO_EMULATE if emulates else BESIDE)).items()
    _install([package for program, package in programs if not has(program)])
    # Twice: without dpkg's own tools nobody knows yet what else a build lacks.
    for _ in range(2):
        _install(call([str(BUILD_DEB), "--missing"]).split())
    _can_overlay()
    if not Path("/dev/loop-control").exists():
        raise Skipped("no /dev/loop-control: the durable disk is a loop device")


def _install(packages: list[str]) -> None:
    if not packages:
        return
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
