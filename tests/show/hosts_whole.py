"""Real hosts, whole: two machines of systemd-nspawn, the package, the units, and a person's first hour."""

import signal
import sys
from collections.abc import Mapping
from functools import partial

from lab import first_hour, holds_obeyed, inside, upgrade, windows
from show.complaint_lines import complaints
from show.lab_lines import Lab, Scene, end_all
from show.lines import Show
from show.named_lines import family
from show.program import run
from show.setup_lines import first, tunnel
from show.stage import Stage
from show.unit_lines import units

COMPLAINTS = ("41", "47", "48", "49", "50", "51", "52", "53", "55")
PIPX = "pipx: a first hour"
EVERY, MOST, SHORT = (60, 30, 8, 5, 120), (60, 30, 8, 5), (30, 5)
"""Notice windows, in seconds."""
METADATA = {
    "metadata address, another namespace: root is answered, the run's user is not": "root_is_answered",
    "metadata: spoteval check tries it, says where it is not enforced": "check_says",
}


def main(argv: list[str] | None = None) -> int:
    """The exit code of the program. TERM ends it as a person's ^C does: no machine is left behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return run("hosts", "Real hosts, whole.", shows, argv)
    finally:
        end_all()


def shows(stage: Stage) -> list[Show]:
    """In this order: what needs no machine first."""
    lab = Lab(stage, scenes(stage), long=frozenset([PIPX]))
    return [
        Show("complaints", lambda: complaints(stage, COMPLAINTS)),
        Show("units", lambda: units(stage)),
        Show("setup", lambda: first(stage)),
        Show("metadata", lambda: family(stage, "test_metadata_", METADATA)),
        *(Show(name, partial(lab.lines, name)) for name in scenes(stage)),
        Show("tunnel", lambda: tunnel(stage)),  # last: the lab has installed an sshd
    ]


def scenes(stage: Stage) -> Mapping[str, Scene]:
    """What is played on machines."""
    few = SHORT if stage.ci else MOST
    return {
        "first hour": first_hour.lines,
        "upgrade": upgrade.lines,
        "windows": partial(windows.lines, windows=EVERY if stage.full else few),
        "holds": holds_obeyed.lines,
        "inside": inside.lines,
        PIPX: partial(first_hour.lines, seed=11, pipx=True),
    }
