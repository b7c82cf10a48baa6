"""How `spoteval run exec` becomes the harness: its command, a small environment, and its secrets."""

import os
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Never

from spoteval.harness.contract import Command

# What a harness may see of ours. Everything else (configuration, credentials, notify socket) stays behind:
# an agent under evaluation has a shell.
KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL", "INVOCATION_ID")
# On a local node this mark makes a process a member of its unit, as a control group does elsewhere.
_UNIT_MARK = "SPOTEVAL_UNIT"


def launched(command: Command, ours: Mapping[str, str], secret: Mapping[str, str]) -> Command:
    """The command with the whole environment of the harness: what is kept of `ours`, its own values, its secrets."""
    kept = {name: ours[name] for name in (*KEPT, _UNIT_MARK) if name in ours}
    return replace(command, env={**kept, **command.env, **secret})


def become(command: Command) -> Never:
    """Replace this process by the command. Raises OSError where it cannot be started.

    Ignored signals get their defaults back, since exec would hand them on: a harness that ignores SIGINT runs on
    when it is asked to stop. (Python itself ignores SIGPIPE and SIGXFSZ.)
    """
    for signum in signal.valid_signals():
        if signal.getsignal(signum) is signal.SIG_IGN:
            signal.signal(signum, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.chdir(command.cwd)
    program = _found(command.argv[0], command.env.get("PATH", os.defpath))
    os.execve(program, command.argv, dict(command.env))  # noqa: S606 - argv, never a shell


def _found(program: str, search: str) -> str:
    """The file that a bare name means on the harness's own PATH."""
    if "/" in program:
        return program
    candidates = (str(Path(folder) / program) for folder in search.split(os.pathsep) if folder)
    return next((path for path in candidates if os.access(path, os.X_OK)), program)
