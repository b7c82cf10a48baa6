"""The check of Docker's data: images on the boot disk go with the node, and come again after each preemption."""

from collections.abc import Iterator
from pathlib import Path

from spoteval.machine import process
from spoteval.machine.process import Run
from spoteval.report.check import Check, ok, warn

_ASK_S, _COUNT_S = 5.0, 20.0
_GB = 1e9


def docker_check(disk: Path, run: Run = process.run) -> Iterator[Check]:
    """Where the images lie and how large they are; nothing where there is no Docker."""
    asked = run(["docker", "info", "--format", "{{.DockerRootDir}}"], _ASK_S)
    folder = Path(asked.out.strip())
    if asked.code == process.NOT_FOUND:
        return
    if not asked.ok or not folder.is_absolute():
        why = " ".join(asked.err.split())[:160] or "no answer"
        yield warn("docker", f"where its images lie is not known: {why}")
        return
    if _device(folder) == _device(disk):
        yield ok("docker", f"images in {folder}, on the durable disk")
    elif _device(folder) == _device(Path("/")):
        mend = f'"data-root": "{disk}/docker" in /etc/docker/daemon.json'
        yield warn(
            "docker", f"{folder} is on the boot disk ({_size(folder, run)}): {mend} keeps it"
        )
    else:
        yield ok("docker", f"images in {folder}, not on the boot disk")


def _device(place: Path) -> int | None:
    try:
        return place.stat().st_dev
    except OSError:
        return None


def _size(folder: Path, run: Run) -> str:
    counted = run(
        ["du", "--summarize", "--one-file-system", "--block-size=1", str(folder)], _COUNT_S
    )
    size = counted.out.split("\t")[0]
    return f"{int(size) / _GB:.1f} GB" if size.isdigit() else "size not known"
