"""The machine that the market takes and gives back: what its driver asks of it, and one that is a process tree."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from spoteval.clock import Now
from spoteval.files import touch
from spoteval.local.directories import LocalDirectories
from spoteval.local.journal import Journal
from spoteval.local.unit_file import Unit
from spoteval.local.unit_set import UnitSet


class Machine(Protocol):
    """One machine that can be switched on and off. Nothing here waits; `tick` moves it on."""

    @property
    def durable(self) -> Path:
        """Its durable disk, as seen from here."""
        ...

    def boot(self) -> None:
        """Switch on."""
        ...

    def press_button(self) -> None:
        """The power button: it is to shut down in its own order."""
        ...

    def kill(self, now: Now) -> None:
        """The plug: nothing of it lives when this returns."""
        ...

    def tick(self, now: Now) -> None:
        """Let it move on."""
        ...

    @property
    def poweroff_asked(self) -> bool:
        """Whether it wants to be off, or is already."""
        ...

    @property
    def is_down(self) -> bool:
        """Whether a shutdown has come to its end."""
        ...


class UnitMachine:
    """A process tree on this host, driven by unit files."""

    def __init__(
        self,
        directories: LocalDirectories,
        units: Mapping[str, Unit],
        enabled: Sequence[str],
        journal: Journal | None = None,
    ) -> None:
        self._directories = directories
        self._units = UnitSet(units, directories, journal)
        self._enabled = tuple(enabled)

    @property
    def durable(self) -> Path:
        """A directory that every life finds again."""
        return self._directories.durable

    def boot(self) -> None:
        """/run is empty, then the enabled units are started."""
        shutil.rmtree(self._directories.run, ignore_errors=True)
        self._directories.run.mkdir(parents=True)
        self._units.boot(self._enabled)

    def press_button(self) -> None:
        """The agents see it by a file; a real host asks systemd."""
        touch(self._directories.run / "stopping")
        self._units.shut_down()

    def kill(self, now: Now) -> None:
        """Every process of every unit."""
        self._units.kill(now)

    def tick(self, now: Now) -> None:
        """Start, stop and watch what has its turn."""
        self._units.tick(now)

    @property
    def poweroff_asked(self) -> bool:
        """Whether the unit that powers off was started."""
        return self._units.poweroff_asked

    @property
    def is_down(self) -> bool:
        """Whether every unit has ended after the button."""
        return self._units.is_down

    @property
    def pids(self) -> frozenset[int]:
        """The main processes of its units."""
        return self._units.pids
