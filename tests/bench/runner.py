"""Becomes one agent, as its entry point does, and keeps the names of its modules at READY and at exit.

    python runner.py AGENT DIRECTORY

Adds to the agent nothing but what is imported here, which each agent imports anyway.
"""

import os
import sys

import sdnotify

AGENT, DIRECTORY = sys.argv[1:3]
OWN = frozenset(sys.modules)


def keep(name: str) -> None:
    """The names of the modules that are loaded now."""
    with open(os.path.join(DIRECTORY, name), "w") as out:  # noqa: PTH118, PTH123 - no pathlib here
        out.write("\n".join(sorted(sys.modules)))


class Watching(sdnotify.SystemdNotifier):  # type: ignore[misc]
    """Keeps the names when the agent says that it is ready."""

    def notify(self, state: str) -> None:
        super().notify(state)
        if "READY=1" in state:
            keep("ready")


sdnotify.SystemdNotifier = Watching
del sys.argv[1:]
try:
    __import__(f"spoteval_agents.{AGENT}.agent")
    sys.modules[f"spoteval_agents.{AGENT}.agent"].main()
finally:
    keep("exit")
