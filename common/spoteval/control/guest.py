"""What the guest's agents have in common: how they begin, and where they write."""

import sys
from collections.abc import Callable
from pathlib import Path

from spoteval import __version__
from spoteval.config.guest import GuestConfig, read_guest
from spoteval.config.shared import ConfigError
from spoteval.control.eventlog import tell
from spoteval.control.runfiles import active_run
from spoteval.files import Taken, held
from spoteval.paths import DurablePaths, HostPaths, host_paths

Body = Callable[[GuestConfig, HostPaths], None]


def serve(agent: str, body: Body) -> int:
    """Run an agent's loop until it ends; returns the exit code: 1 where it runs already, 2 for a wrong host file."""
    if "--version" in sys.argv[1:]:
        sys.stdout.write(f"spoteval-{agent} {__version__}\n")
        return 0
    host = host_paths()
    try:
        config = read_guest(host.config, agent)
        warn_of(config)
        with held(host.run / f"{agent}.lock"):
            body(config, host)
    except ConfigError as error:
        tell(str(error), warning=True)
        return 2
    except Taken as error:
        tell(str(error), warning=True)
        return 1
    return 0


def warn_of(config: GuestConfig) -> None:
    """Say what is wrong in tables of others: one typo must not stop all agents."""
    for line in config.warnings:
        tell(f"{line} (not for this agent; `spoteval check` refuses it)", warning=True)


def decisions_of(durable: DurablePaths, agent: str) -> Path:
    """The file copy of an agent's decision lines."""
    return durable.root / "decisions" / f"{agent}.jsonl"


def events_of(durable: DurablePaths) -> Path:
    """Where an event of this guest belongs now: to the active run, else to the guest."""
    name = active_run(durable)
    if isinstance(name, str):
        return durable.run(name).events
    return durable.root / "events.jsonl"
