"""Loaded by every Python process of a machine under test: numbers the effects on files of each unit, and kills at one.

`spoteval.files` announces each effect before it happens and after. Who reaches the number that stands in `kill`
gets SIGKILL, be it the agent or a child that it started.
"""

import os
import signal
import sys
from pathlib import Path

LINE = 256
HERE = Path(__file__).parent


def armed(unit: str) -> None:
    """Listen, in the processes of this unit."""
    plan = (HERE / "kill").read_text().split()
    last = int(plan[1]) if plan[:1] == [unit] else 0
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    trace = os.open(HERE / f"{unit}.trace", flags, 0o644)

    def heard(event: str, args: tuple[object, ...]) -> None:
        if event != "spoteval.files":
            return
        text = f"{os.getpid()} {args[0]} {args[1]}"[-LINE + 1 :]
        os.write(trace, text.ljust(LINE - 1).encode()[: LINE - 1] + b"\n")
        if last and os.lseek(trace, 0, os.SEEK_CUR) == last * LINE:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(heard)


UNIT = os.environ.get("SPOTEVAL_UNIT", "").rpartition(":")[2].removesuffix(".service")
if UNIT.startswith("spoteval-"):
    armed(UNIT)
