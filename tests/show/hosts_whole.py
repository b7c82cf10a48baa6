"""Real hosts, whole: two machines of systemd-nspawn, the package, the units, and a person's first hour."""

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from lab import first_hour, holds_obeyed, inside, package, tools, upgrade, windows
from lab.orphans import sweep
from lab.shell import Skipped
from lab.world import Kit
from show.complaint_lines import complaints
from show.lines import Line, Show, needs_full, skipped
from show.named_lines import family
from show.program import run
from show.stage import Stage
from show.unit_lines import units

COMPLAINTS = ("41", "47", "48", "49", "50", "51", "52", "53", "55")
METADATA = {
    "metadata address, another namespace: root is answered, the run's user is not": "root_is_answered",
    "metadata: spoteval check tries it, says where it is not enforced": "check_says",
}
Scene = Callable[[Path, Kit], Iterable[Line]]


def main(argv: list[str] | None = None) -> int:
    """The exit code of the program. TERM ends it as a person's ^C does: no machine is left behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return run("hosts", "Real hosts, whole.", shows, argv)


def shows(stage: Stage) -> list[Show]:
    """In this order: what needs no machine first."""
    lab = Lab(stage)
    short = partial(windows.lines, windows=(30, 5))
    return [
        Show("complaints", lambda: complaints(stage, COMPLAINTS)),
        Show("units", lambda: units(stage)),
        Show("metadata", lambda: family(stage, "test_metadata_", METADATA)),
        Show("first hour", lambda: lab.shows("first hour", first_hour.lines)),
        Show("windows", lambda: lab.shows("windows", windows.lines if stage.full else short)),
        Show("upgrade", lambda: lab.shows("upgrade", upgrade.lines)),
        Show("holds", lambda: lab.shows("holds", holds_obeyed.lines)),
        Show("inside", lambda: lab.shows("inside", inside.lines)),
    ]


class Lab:
    """The package is built once, by whichever scene comes first."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._kit: Kit | None = None
        self._why: str | None = None

    def shows(self, name: str, scene: Scene, *, long: bool = False) -> Iterator[Line]:
        """The lines of a scene, or why this machine cannot play it."""
        if long and not self._stage.full:
            yield needs_full(name)
            return
        try:
            kit = self._ready()
        except Skipped as reason:
            yield skipped(name, reason)
            return
        yield from scene(self._stage.scratch / name.replace(" ", "-"), kit)

    def _ready(self) -> Kit:
        if self._why is not None:
            raise Skipped(self._why)
        if self._kit is None:
            try:
                tools.ready()
                sweep()
            except Skipped as reason:
                self._why = str(reason)
                raise
            self._kit = package.kit(self._stage.scratch)
        return self._kit
