"""What an adapter owes: how its run starts and stops, and what its files say about episodes."""

import signal
from collections.abc import Collection, Mapping
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
    """Attempts with evidence in finished form: ended by themselves, or recorded as cut. Identity is `native_id`;
    `number` is the order of begin within the episode as far as the files tell."""
    in_flight: tuple[Attempt, ...] = ()
    """Attempts that began and of which nothing tells how they ended: running, or cut by a kill just now."""
    pending: tuple[Attempt, ...] = ()
    """Attempts that ended by themselves, in a buffer from which the harness itself will write their evidence, also
    after a kill. Not finished yet, and no cut."""
    unreadable: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """What is not as it was at the first start: who goes on with it measures something else."""
    state_files: tuple[Path, ...] = ()
    """Files that change in place and are published whole."""
    beyond: int = 0
    """Episodes that seem to have ended and are not among the attempts: too many to be told at once."""


class Harness(Protocol):
    """An adapter. `work` is the run's `work/` directory on the durable disk."""

    @property
    def name(self) -> str:
        """The name by which a run asks for it."""

    @property
    def stop_steps(self) -> tuple[StopStep, ...]:
        """The run's own stop path, in order; SIGKILL is the caller's."""

    def refuses(self, run: RunRecord) -> str | None:
        """Why this run cannot be honoured (settlement, errors policy, arguments), or None."""

    def prepare(self, run: RunRecord, work: Path) -> tuple[str, ...]:
        """Mend, while no process of the run lives, what would make its next start stumble or repeat finished episodes.

        Returns what was done, a sentence each; repeatable, and nothing of a run is thrown away.
        """

    def command(self, run: RunRecord, work: Path, closed: Collection[str] = frozenset()) -> Command:
        """How the run starts, which is also how it resumes with the finished episodes kept.

        `closed`: episodes that are over by our own records, and are not to begin again, where the harness can be told.
        """

    def survey(self, run: RunRecord, work: Path) -> Survey:
        """Read the harness's files. Never raises for what lies in them."""

    def salvage(self, run: RunRecord, work: Path) -> tuple[Path, ...]:
        """Files with evidence of in-flight episodes, to be copied once the run's processes are dead."""
