"""Versions that a run record freezes: ours, and that of the harness in its own environment."""

import re

from spoteval import __version__
from spoteval.machine import process
from spoteval.machine.process import Finished, Run
from spoteval.run import RunPlan

UNKNOWN = "unknown"
WITHIN_S = 60.0
"""A harness with heavy imports takes ten seconds to say its version on a cold disk."""
_VERSION = re.compile(r"\d+\.\d+[0-9A-Za-z.+-]*")


def versions(plan: RunPlan, run: Run = process.run) -> dict[str, str]:
    """Name to version. The harness is asked by `<executable> --version`; "unknown" where it does not say."""
    found = {"spoteval": __version__}
    if plan.executable:
        found[plan.harness] = _said(run([plan.executable, "--version"], WITHIN_S))
    return found


def _said(done: Finished) -> str:
    """The first thing that looks like a version."""
    match = _VERSION.search(done.out + "\n" + done.err) if done.ok else None
    return match[0] if match else UNKNOWN
