"""The guest hold, placed from the restarter host where [instance] ssh allows it."""

import shlex

from spoteval.control.refused import Failed
from spoteval.machine import process
from spoteval.machine.process import Run

WITHIN_S = 40.0
_OPTIONS = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10")


def place_guest_hold(target: str, reason: str, by: str, run: Run = process.run) -> str:
    """Place it by the guest's own command, which knows its disk; returns the target. Raises Failed."""
    words = ["sudo", "spoteval", "hold", "place", "--guest", "--reason", reason, "--by", by]
    done = run(["ssh", *_OPTIONS, target, shlex.join(words)], WITHIN_S)
    if done.ok:
        return target
    said = "no answer" if done.timed_out else (done.err.strip().splitlines() or ["failed"])[-1]
    raise Failed(
        f"the guest hold could not be placed by ssh {target}: {said}. The restarter hold stands,"
        " nothing was stopped"
    )
