"""The guest, whole: its way down, its way up, and its end."""

from show.complaint_lines import complaints
from show.drill_lines import drills
from show.kill_lines import kills
from show.large_lines import large
from show.lines import Show
from show.named_lines import named
from show.program import run
from show.stage import Stage

COMPLAINTS = (
    *("7", "27", "28", "35", "36", "38", "40", "42", "42b", "44", "45", "52", "57", "79", "80"),
    *("81", "83", "85", "86", "87", "89", "90", "91", "93", "94", "95"),
)
DISK = "disk forked, absent, wrong, read-only, full: one line, nothing written"
SERVER = "server too early, with a key, of another model, dying, never there"
IDLE = "idle truth table, and a store that cannot be reached"


def main(argv: list[str] | None = None) -> int:
    """The exit code of the program."""
    return run("guest", "The guest, whole.", shows, argv)


def shows(stage: Stage) -> list[Show]:
    """In this order: quick ones first."""
    return [
        Show(DISK, lambda: named(stage, DISK, "test_disk_", 5)),
        Show(SERVER, lambda: named(stage, SERVER, "test_server_", 5)),
        Show(IDLE, lambda: named(stage, IDLE, "test_idle_table_", 1)),
        Show("complaints", lambda: complaints(stage, COMPLAINTS)),
        Show("drills", lambda: drills(stage)),
        Show("kill -9 at every write", lambda: kills(stage)),
        Show("an Inspect run of 5,000 samples", lambda: large(stage)),
    ]
