"""The directories of a local host, standing for those of a real one, and what its units are told."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spoteval.paths import HostPaths

_REAL_RUN = Path("/run/spoteval")
_KEPT = ("HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH")


@dataclass(frozen=True, slots=True)
class LocalDirectories:
    """One local host. `root` must be resolved: it is the name by which its processes are found."""

    root: Path

    @property
    def run(self) -> Path:
        """Stands for /run/spoteval; emptied at each boot."""
        return self.root / "run"

    @property
    def durable(self) -> Path:
        """Stands for the durable disk; kept."""
        return self.root / "durable"

    @property
    def journal(self) -> Path:
        """What units wrote, one file each."""
        return self.root / "journal"

    def mapped(self, path: Path) -> Path:
        """Where a path below /run/spoteval lies on this host; any other path is itself."""
        if path.is_relative_to(_REAL_RUN):
            return self.run / path.relative_to(_REAL_RUN)
        return path

    def environment(self, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """What every unit's process gets. As under systemd, little of ours leaks in."""
        kept = {name: environ[name] for name in _KEPT if name in environ}
        return kept | {
            "PATH": f"{Path(sys.executable).parent}:{environ.get('PATH', os.defpath)}",
            "SPOTEVAL_CONFIG": str(self.root / "config.toml"),
            "RUNTIME_DIRECTORY": str(self.run),
            "STATE_DIRECTORY": str(self.root / "state"),
            "CREDENTIALS_DIRECTORY": str(self.root / "credentials"),
        }


@dataclass(frozen=True, slots=True)
class ContainerDirectories(LocalDirectories):
    """A container without systemd: the directories of a real host. `root` is the parent of `host.run`, by which
    commands that are typed beside the agents find their processes.
    """

    host: HostPaths
    disk: Path

    @property
    def run(self) -> Path:
        """/run/spoteval itself."""
        return self.host.run

    @property
    def durable(self) -> Path:
        """What is mounted there."""
        return self.disk

    def mapped(self, path: Path) -> Path:
        """Where a path below /run/spoteval lies: there, but for a test."""
        if path.is_relative_to(_REAL_RUN):
            return self.host.run / path.relative_to(_REAL_RUN)
        return path

    def environment(self, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """No variable of the container itself, among which is the provider's key."""
        kept = {name: environ[name] for name in _KEPT if name in environ}
        return kept | {
            "PATH": f"{Path(sys.executable).parent}:{environ.get('PATH', os.defpath)}",
            "SPOTEVAL_CONFIG": str(self.host.config),
            "RUNTIME_DIRECTORY": str(self.host.run),
            "STATE_DIRECTORY": str(self.host.state),
            "CREDENTIALS_DIRECTORY": str(self.host.credentials),
        }
