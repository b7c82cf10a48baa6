"""What the cases of a machine that must end share: a guest that is set up, and what came of a case."""

import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab import disk as disks
from lab.nspawn import Nspawn, until
from lab.qemu import Qemu
from lab.shell import Broken
from power.guest import Link, Plan, configure
from power.prepared import Prepared, at_store, machine, prepared, qemu_image
from power.worlds import World, Worlds
from s3_server import free_port

IDLE_S, PUBLISH_S = 20.0, 20.0
"""`[idle] after` and `[end] publish_within` of these machines: the patience of the host file, made short."""
PLAN = Plan(episodes=3, pace=0.2, load_s=0.5, stubborn_s=0.0, idle="20s", look="5s", publish="20s")
FORCED_S = 180.0


@dataclass(slots=True)
class End:
    """`off_s` from the cause to the power being off, `bound_s` the most that the documents allow; both None where it
    stays on. `figure` tells it."""

    machine: str
    figure: str
    off_s: float | None = None
    bound_s: float | None = None
    wrong: list[str] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """As the record has it."""
        late = self.off_s is not None and self.bound_s is not None and self.off_s > self.bound_s
        wrong = [*self.wrong, *(["later than its bound"] if late else [])]
        own = {"machine": self.machine, "figure": self.figure, "stays_on": self.off_s is None}
        return {**own, "off_s": self.off_s, "bound_s": self.bound_s, "wrong": wrong}


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a case plays."""

    place: Path
    worlds: Worlds
    below: tuple[Path, ...]

    def guest(self, plan: Plan = PLAN) -> Prepared:
        """Set up for this case alone: what a run is told is frozen in its record."""
        return prepared(self.below, self.worlds, plan, self.place / f"begin-{self.place.name}")

    def qemu(self, found: Prepared, plan: Plan, *, disk: bool = True) -> Qemu:
        """It in QEMU, off."""
        image = qemu_image(found, self.place / "image", plan)
        own = disks.copy(found.disk, self.place / "disk") if disk else None
        words = at_store(found.world)
        return Qemu(self.place.name, self.place / "machine", image, own, words=words)

    def nspawn(self, found: Prepared, plan: Plan) -> tuple[Nspawn, disks.Disk]:
        """It by nspawn, off, and its disk."""
        disk = disks.found(found.disk, found.uuid, self.place / "mounted")
        host = machine(self.place.name, self.place / "host", found.layers, disk)
        told(host, found, found.world, plan)
        return host, disk


def told(host: Nspawn, found: Prepared, world: World, plan: Plan) -> None:
    """Its host file."""
    link = Link(f"http://127.0.0.1:{world.serve()}", free_port(), found.uuid)
    configure(host.root, plan, link)


def said(machine: Qemu, pattern: str, within_s: float) -> float:
    """Wait until the console has said it; the moment by this host's clock. Raises Broken."""
    expression = re.compile(pattern)
    until(
        lambda: expression.search(_console(machine)),
        within_s,
        pattern,
        machine.console,
        every_s=0.2,
    )
    return time.monotonic()


def last_said(machine: Qemu, pattern: str) -> str:
    """The last line of the console that holds it."""
    lines = [line for line in _console(machine).splitlines() if re.search(pattern, line)]
    return lines[-1][lines[-1].find("agent=") :].strip() if lines else "never said"


def heard(host: Nspawn, unit: str, pattern: str, within_s: float) -> float:
    """Wait until the journal of a unit has said it; the moment by this host's clock. Raises Broken."""
    until(lambda: journal_line(host, unit, pattern), within_s, pattern, host.console, every_s=0.5)
    return time.monotonic()


def journal_line(host: Nspawn, unit: str, pattern: str) -> str:
    """The last line of a unit that holds it, else nothing."""
    try:
        text = host.journal("-u", unit, "-o", "cat")
    except Broken:
        return ""  # it is being written
    found = [line for line in text.splitlines() if re.search(pattern, line)]
    return found[-1] if found else ""


def _console(machine: Qemu) -> str:
    path = machine.console_file
    return path.read_text(errors="replace") if path.exists() else ""
