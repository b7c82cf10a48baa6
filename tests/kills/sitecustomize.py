"""Loaded by every Python process of a machine under test: numbers the writes of each unit, and kills at one.

`spoteval.files` announces each effect on a file, before it happens and after. A write is numbered where it begins: what
it would have recorded has happened, and is not recorded. With `points` each announcement has a number. Who reaches
the number that stands in `kill` gets SIGKILL, be it the agent or a child that it started.
"""

import os
import signal
import sys
from pathlib import Path

LINE = 256
HERE = Path(__file__).parent


def armed(unit: str) -> None:
    """Listen, in the processes of this unit."""
    what, who, number = (HERE / "kill").read_text().split()
    last = int(number) if who == unit else 0
    begun = set[object]()
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    trace = os.open(HERE / f"{unit}.trace", flags, 0o644)

    def heard(event: str, args: tuple[object, ...]) -> None:
        if event != "spoteval.files" or (what == "writes" and not begins(args, begun)):
            return
        text = f"{os.getpid()} {args[0]} {args[1]}"[-LINE + 1 :]
        os.write(trace, text.ljust(LINE - 1).encode()[: LINE - 1] + b"\n")
        if last and os.lseek(trace, 0, os.SEEK_CUR) == last * LINE:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(heard)


def begins(args: tuple[object, ...], begun: set[object]) -> bool:
    """Whether a write begins here; a rename or link ends the one that was begun beside its target."""
    if args[0] in ("rename", "link") and args[1] not in begun:
        return True
    begun.discard(args[1])
    if args[0] == "write":
        begun.add(args[1])
    return args[0] in ("write", "append", "unlink", "utime")


UNIT = os.environ.get("SPOTEVAL_UNIT", "").rpartition(":")[2].removesuffix(".service")
if UNIT.startswith("spoteval-"):
    armed(UNIT)
