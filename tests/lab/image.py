"""What QEMU boots: Debian's cloud kernel, and a root filesystem made of the lab's layers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.cache import key, made
from lab.overlay import mounted
from lab.root import APT, MAKE_S, clean
from lab.shell import PLAIN, call

KERNEL = ("linux-image-cloud-amd64", "initramfs-tools", "udev", "kmod")
MODULES = ("virtio_pci", "virtio_blk", "virtio_net", "ext4")
SIZE = "4G"  # most of it holes
SHELL_PORT = 7777
NODE_ADDRESS, HOST_ADDRESS = "10.0.2.15", "10.0.2.2"
"""The machine, and this host's loopback, in QEMU's own network."""
_NETWORK = f"""\
[Match]
MACAddress=52:54:00:12:34:56
[Network]
Address={NODE_ADDRESS}/24
Gateway={HOST_ADDRESS}
LinkLocalAddressing=no
IPv6AcceptRA=no
"""
_SHELL_UNIT = """\
[Unit]
Description=the lab's root shell: a line in, its result out
DefaultDependencies=no
After=systemd-networkd.service
Before=shutdown.target
[Service]
ExecStart=python3 /opt/lab/shell
[Install]
WantedBy=multi-user.target
"""
_SHELL = f"""\
import json, socketserver, subprocess
class Typed(socketserver.StreamRequestHandler):
    def handle(self):
        line = json.loads(self.rfile.readline())
        done = subprocess.run(["/bin/bash", "-c", "cd; " + line], capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL)
        said = dict(code=done.returncode, out=done.stdout, err=done.stderr)
        self.wfile.write(json.dumps(said).encode() + b"\\n")
socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer(("0.0.0.0", {SHELL_PORT}), Typed).serve_forever()
"""
_STORE_UNIT = """\
[Unit]
Description=the lab's store is at the port that the kernel's command line says
DefaultDependencies=no
After=systemd-remount-fs.service
Before=sysinit.target
[Service]
Type=oneshot
ExecStart=/bin/sh /opt/lab/store
[Install]
WantedBy=sysinit.target
"""
_STORE = f"""\
port=$(sed -n 's/.*lab.store=\\([0-9]*\\).*/\\1/p' /proc/cmdline)
[ -z "$port" ] || sed -i "s/{HOST_ADDRESS}:[0-9]*/{HOST_ADDRESS}:$port/" /etc/spoteval/config.toml
"""
JOURNAL = "[Journal]\nForwardToConsole=yes\nMaxLevelConsole=info\nRateLimitIntervalSec=0\n"
FILES = {
    "etc/systemd/network/10-lab.network": _NETWORK,
    "etc/systemd/system/lab-shell.service": _SHELL_UNIT,
    "etc/systemd/journald.conf.d/lab.conf": JOURNAL,
    "etc/systemd/system/lab-store.service": _STORE_UNIT,
    "opt/lab/shell": _SHELL,
    "opt/lab/store": _STORE,
}
ENABLED = ("systemd-networkd", "systemd-networkd-wait-online", "lab-shell", "lab-store")


@dataclass(frozen=True, slots=True)
class Image:
    """A root filesystem that no machine writes to, and what boots it."""

    root: Path
    kernel: Path
    initrd: Path


def with_kernel() -> Path:
    """The files above `clean` once Debian's cloud kernel is installed there."""
    return made(f"kernel-{key('2', clean().name, *KERNEL, *MODULES)}", _with_kernel)


def image(layers: Sequence[Path], place: Path) -> Image:
    """An image of these layers, the topmost last, with network, shell and a journal on the console."""
    with mounted([*layers, with_kernel() / "upper"], place) as root:
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        (root / "etc" / "machine-id").write_text("")
        call(["systemctl", f"--root={root}", "-q", "enable", *ENABLED], 60.0, PLAIN)
        target = place / "root.ext4"
        call(["truncate", "--size", SIZE, str(target)])
        call(["mkfs.ext4", "-q", "-E", "lazy_itable_init=1", "-d", str(root), str(target)], MAKE_S)
    boot = with_kernel() / "upper" / "boot"
    return Image(target, _only(boot, "vmlinuz-*"), _only(boot, "initrd.img-*"))


def _with_kernel(place: Path) -> None:
    with mounted([clean() / "root"], place) as root:
        inside = ["chroot", str(root)]
        install = ["apt-get", "install", "-y", "-q", "--no-install-recommends"]
        call([*inside, *install, *KERNEL[1:]], MAKE_S, APT)
        # Only what this machine has: a small initrd is read and unpacked in a tenth of the time.
        folder = root / "etc" / "initramfs-tools"
        (folder / "conf.d" / "lab").write_text("MODULES=list\n")
        (folder / "modules").write_text("".join(f"{name}\n" for name in MODULES))
        call([*inside, *install, KERNEL[0]], MAKE_S, APT)
        call([*inside, "apt-get", "clean"], MAKE_S, APT)


def _only(folder: Path, pattern: str) -> Path:
    return sorted(folder.glob(pattern))[-1]
