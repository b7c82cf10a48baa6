"""What the service manager says about somebody's unit: its state, how often it was restarted, its last lines.

Read only. No right is needed to ask systemd for a state; for the lines, the group `systemd-journal`.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from spoteval.machine import process
from spoteval.machine.cgroup import MARK
from spoteval.machine.process import Run
from spoteval.shape import Reading, Unreadable

WITHIN_S = 5.0
LINES, BYTES, LOCAL_BYTES = 200, 64_000, 4_000_000
FAILED = "failed"
OFF = "off"
"""What a local node writes into a unit's journal when a life ends."""
_ASKED = ("LoadState", "ActiveState", "Result", "NRestarts")
_OWN_LINE = re.compile(r"^\S+ -- (\S+) ?(.*)$")


@dataclass(frozen=True, slots=True)
class UnitState:
    """A unit now. `restarts`: how often its manager has started it again since it was last started by hand."""

    known: bool
    state: str
    result: str
    restarts: int

    @property
    def gave_up(self) -> bool:
        """Whether it failed and its manager will not start it again."""
        return self.state == FAILED


class Units(Protocol):
    """A service manager that can be asked."""

    def state(self, unit: str) -> Reading[UnitState]:
        """The unit's state now."""

    def last_lines(self, unit: str) -> str:
        """What it wrote last in this life of the machine; empty where nobody may read it."""


@dataclass(frozen=True, slots=True)
class Systemd:
    """The real one."""

    run: Run = process.run

    def state(self, unit: str) -> Reading[UnitState]:
        """By `systemctl show`, which answers for units that do not exist too."""
        wanted = ",".join(_ASKED)
        done = self.run(["systemctl", "show", "--property", wanted, "--", unit], WITHIN_S)
        found = dict(line.partition("=")[::2] for line in done.out.splitlines())
        if not done.ok or "ActiveState" not in found:
            why = f"timeout:{WITHIN_S:g}s" if done.timed_out else done.err.strip() or "no answer"
            return Unreadable(f"systemctl show {unit}: {why}")
        restarts = found.get("NRestarts", "")
        return UnitState(
            known=found.get("LoadState") != "not-found",
            state=found["ActiveState"],
            result=found.get("Result", ""),
            restarts=int(restarts) if restarts.isdigit() else 0,
        )

    def last_lines(self, unit: str) -> str:
        """By `journalctl`, whose answer to who may not read is an empty one."""
        words = ["--boot", "--lines", str(LINES), "--output", "cat", "--no-pager", "--quiet"]
        done = self.run(["journalctl", "--unit", unit, *words], WITHIN_S)
        return done.out[-BYTES:] if done.ok else ""


@dataclass(frozen=True, slots=True)
class LocalUnits:
    """A local node, whose journal is a file for each unit with the node's own lines among the unit's."""

    root: Path

    def state(self, unit: str) -> Reading[UnitState]:
        """By the node's own lines since the life began."""
        own = [match for line in self._life(unit) if (match := _OWN_LINE.match(line))]
        words = [match[1] for match in own]
        return UnitState(
            known=True,
            state=words[-1] if words else "inactive",
            result=own[-1][2] if own else "",
            restarts=words.count("auto-restart"),
        )

    def last_lines(self, unit: str) -> str:
        """The unit's lines, without the node's and without their stamps."""
        lines = [line for line in self._life(unit)[-LINES:] if not _OWN_LINE.match(line)]
        return "\n".join(line.partition(" ")[2] for line in lines)

    def _life(self, unit: str) -> list[str]:
        """The lines of this life of the node, or of what is left of it."""
        try:
            data = (self.root / "journal" / f"{unit}.log").read_bytes()[-LOCAL_BYTES:]
        except OSError:
            return []
        lines = data.decode(errors="replace").splitlines()
        ends = [n for n, line in enumerate(lines) if line.endswith(f" -- {OFF}")]
        return lines[ends[-1] + 1 :] if ends else lines


def units_here(environ: Mapping[str, str] = os.environ) -> Units:
    """The manager of the units beside us: a local node's where we are marked as one of its processes."""
    root, _, _ = environ.get(MARK, "").rpartition(":")
    return LocalUnits(Path(root)) if root else Systemd()
