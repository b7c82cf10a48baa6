"""Machines that lose power: cut at seeded instants, replayed from a recorded disk, rehearsed, and made to end."""

import signal
import sys

from show.cut_lines import cuts
from show.end_lines import ends
from show.lines import Show
from show.program import run
from show.rehearsal_lines import rehearsals
from show.replay_lines import replay
from show.stage import Stage


def main(argv: list[str] | None = None) -> int:
    """The exit code of the program. TERM ends it as a person's ^C does: no machine is left behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return run("power", "Machines that lose power.", shows, argv)


def shows(stage: Stage) -> list[Show]:
    """In this order: quick ones first."""
    return [
        Show("drill forced-stop", lambda: rehearsals(stage)),
        Show("replay", lambda: replay(stage)),
        Show("cuts", lambda: cuts(stage)),
        Show("ends", lambda: ends(stage)),
    ]
