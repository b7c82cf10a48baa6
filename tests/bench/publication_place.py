"""Where one guest of the bench lies: no more than its own process has to know, whose memory is measured."""

from dataclasses import dataclass
from pathlib import Path

from spoteval.config.guest import GuestConfig, read_guest
from spoteval.paths import DurablePaths, HostPaths, RunPaths


@dataclass(frozen=True, slots=True)
class Place:
    """Where one guest of the bench lies."""

    root: Path
    run: str

    @property
    def host(self) -> HostPaths:
        """Its own directories instead of the machine's."""
        root = self.root
        return HostPaths(root / "config.toml", root / "run", root / "state", root / "keys")

    @property
    def disk(self) -> DurablePaths:
        """The durable disk."""
        return DurablePaths(self.root / "disk")

    @property
    def paths(self) -> RunPaths:
        """The run's directory."""
        return self.disk.run(self.run)

    @property
    def episodes(self) -> Path:
        """Where finished episodes lie."""
        return self.paths.work / "episodes"

    @property
    def config(self) -> GuestConfig:
        """The host file, read."""
        return read_guest(self.host.config)
