"""Machines whose lab was killed: they are ended, and what they held is given back."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from lab.overlay import unmount
from lab.shell import tried

NSPAWN, QEMU = "systemd-nspawn", ("qemu-system-x86_64", "qemu-storage-daemon")
MARK = "LAB_PARENT"
"""In the environment of every machine of the lab: who started it, and when that one began."""


def mark(pid: int | None = None) -> str:
    """This process, or another; a number alone may be given again."""
    return f"{pid or os.getpid()}:{_began(pid or os.getpid())}"


def sweep() -> int:
    """End every machine of the lab whose parent is gone, and return how many there were."""
    found = list(_orphans())
    for pid, words in found:
        _end(pid, words)
    return len(found)


def _orphans() -> Iterator[tuple[int, list[str]]]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            words = (folder / "cmdline").read_text().split("\0")
            environment = (folder / "environ").read_text().split("\0")
        except (OSError, UnicodeDecodeError):
            continue
        said = next((word for word in environment if word.startswith(f"{MARK}=")), None)
        if said is not None and words[0] in (NSPAWN, *QEMU) and not lives(said):
            yield int(folder.name), words


def lives(said: str) -> bool:
    """Whether the process of a mark is still there."""
    pid, _, began = said.partition("=")[2].partition(":")
    return pid.isdigit() and _began(int(pid)) == began


def _began(pid: int) -> str:
    """Clock ticks after boot; empty for one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _end(nspawn: int, words: list[str]) -> None:
    children = Path(f"/proc/{nspawn}/task/{nspawn}/children")
    pids = [int(word) for word in children.read_text().split()] if children.exists() else []
    for pid in (*pids, nspawn):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if words[0] in QEMU:
        return
    root = Path(words[words.index("-D") + 1])
    unmount(root)
    for word in words:
        source = word.removeprefix("--bind=").split(":")[0]
        if word.endswith(":/mnt/durable"):
            tried(["umount", "--lazy", source])
        elif source.startswith("/dev/loop"):
            tried(["losetup", "--detach", source])
