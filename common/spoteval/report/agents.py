"""Which agents run: each holds a lock while it lives."""

from collections.abc import Iterable
from pathlib import Path

from spoteval.files import is_held

AGENTS = (
    "shutdown-hook",
    "publication-follower",
    "boot-resume",
    "idle-guard",
    "end-handler",
)
"""Those of a guest, in the order in which they are enabled."""


def restart_command(run: Path) -> str | None:
    """What has those that run take their units anew, never the run itself; None where none runs."""
    units = [f"spoteval-{agent}" for agent in AGENTS if is_running(run / f"{agent}.lock")]
    return f"systemctl restart {' '.join(units)}" if units else None


def absent_agents(run: Path) -> str:
    """What starts those that do not run; empty where all of them do."""
    absent = [agent for agent in AGENTS if not is_running(run / f"{agent}.lock")]
    return enable_command(absent) if absent else ""


def enable_command(agents: Iterable[str]) -> str:
    """What starts these agents now and at each boot."""
    return f"systemctl enable --now {' '.join(f'spoteval-{agent}' for agent in agents)}"


def is_running(lock: Path) -> bool:
    """Whether the agent holds its lock; where we may not ask, it is not known to run."""
    try:
        return lock.exists() and is_held(lock)
    except OSError:
        return False
