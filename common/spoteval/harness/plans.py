"""The stop path of each harness, apart from its adapter: who only stops a run must load no log reader."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

from spoteval.harness.contract import StopStep

_STEPS = {
    # SIGINT is Inspect's way to write its header and its cut samples (0.5 to 1.4 s on two cores). It must come
    # once: a second one aborts the writing. SIGTERM has no handler there and kills on the spot.
    "inspect": (
        StopStep(signal.SIGINT, 0.85, needs_handler=True),
        StopStep(signal.SIGTERM, 0.15),
    ),
    "directory": (StopStep(signal.SIGTERM, 1.0),),
}


_CONTAINERS = {
    # Each sample's sandbox is a project of Docker Compose of that name.
    "inspect": ("label=com.docker.compose.project=inspect-*",),
    "directory": (),
}


def stop_steps(name: str) -> tuple[StopStep, ...]:
    """The signals of a harness's own stop path, in order; SIGKILL is not among them, it is the caller's.

    Raises KeyError for a harness that does not exist.
    """
    return _STEPS[name]


def container_filters(name: str) -> tuple[str, ...]:
    """Docker filters that match the containers which the harness itself starts, and no model server's.

    Raises KeyError for a harness that does not exist.
    """
    return _CONTAINERS[name]


def salvage_files(name: str, work: Path) -> tuple[Path, ...]:
    """Files below `work` that tell of the episodes a stop cut, newest first; links and what they lead to are left out:
    the run could lay one to a key that only the agents may read, and read the copy.

    Raises KeyError for a harness that does not exist.
    """
    real = work.resolve()
    found = (path for path in _SALVAGE[name](work) if path.is_file() and not path.is_symlink())
    found = (path for path in found if path.resolve().is_relative_to(real))
    aged = sorted(((path.stat().st_mtime_ns, path) for path in found), reverse=True)
    return tuple(path for _, path in aged)


def _inspect_files(work: Path) -> Iterator[Path]:
    """The sample buffers with their -wal and -shm, and the newest log: its header may never have been written."""
    yield from (work / "home/.local/share/inspect_ai/samplebuffer").glob("*/*.db*")
    logs = [path for path in (work / "logs").glob("*.eval") if path.is_file()]
    yield from sorted(logs, key=_changed_ns)[-1:]


def _directory_files(work: Path) -> Iterator[Path]:
    """Every file of the episodes that have not ended."""
    for episode in (work / "episodes").glob("*/"):
        if not (episode / "episode.json").exists():
            yield from episode.rglob("*")


def _changed_ns(path: Path) -> int:
    return path.stat().st_mtime_ns


_SALVAGE: dict[str, Callable[[Path], Iterator[Path]]] = {
    "inspect": _inspect_files,
    "directory": _directory_files,
}
