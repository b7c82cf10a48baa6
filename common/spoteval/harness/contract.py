"""What an adapter owes: how its run starts and stops, and what its files say about episodes."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from spoteval.episode import Attempt
from spoteval.run import RunRecord


@dataclass(frozen=True, slots=True)
class Command:
    """A process to become: argv (never through a shell), the whole of its own environment values, directory."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path


@dataclass(frozen=True, slots=True)
class StopStep:
    """One signal of the run's own stop path, sent once, and the share of the own-stop time it may take."""

    signum: signal.Signals
    share: float
    needs_handler: bool = False
    """Skip the step where the process ignores the signal (SigIgn in /proc/PID/status)."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What the harness's files say now. Read only; a torn or half-written file is named, never guessed at."""

    intended: tuple[str, ...] | None = None
    """Keys of all intended episodes, from the harness's own header; None while there is no header."""
    attempts: tuple[Attempt, ...] = ()
    """Attempts with evidence in finished form: ended by themselves, or recorded as cut."""
    in_flight: tuple[Attempt, ...] = ()
    """Attempts that began and of which nothing tells how they ended."""
    unreadable: tuple[str, ...] = ()
    state_files: tuple[Path, ...] = ()
    """Files that change in place and are published whole."""


class Harness(Protocol):
    """An adapter. `work` is the run's `work/` directory on the durable disk."""

    name: str
    stop_steps: tuple[StopStep, ...]

    def refuses(self, run: RunRecord) -> str | None:
        """Why this run cannot be honoured (settlement, errors policy, arguments), or None."""

    def command(self, run: RunRecord, work: Path) -> Command:
        """How the run starts, which is also how it resumes with the finished episodes kept."""

    def survey(self, run: RunRecord, work: Path) -> Survey:
        """Read the harness's files. Never raises for what lies in them."""

    def salvage(self, run: RunRecord, work: Path) -> tuple[Path, ...]:
        """Files with evidence of in-flight episodes, to be copied once the run's processes are dead."""
