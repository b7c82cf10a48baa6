"""The guest, whole: its way down, its way up, and its end."""

from show.complaint_lines import complaints
from show.drill_lines import drills
from show.kill_lines import kills
from show.large_lines import large
from show.lines import Show
from show.named_lines import family
from show.program import run
from show.stage import Stage

COMPLAINTS = (
    *("7", "27", "28", "35", "36", "38", "40", "42", "42b", "44", "45", "52", "57", "79", "80"),
    *("81", "83", "85", "86", "87", "89", "90", "91", "93", "94", "95"),
)
DISKS = {
    "two copies of one disk: the second is disk-forked, publishes nothing": "forked",
    "disk absent: one line, nothing written, machine off": "absent",
    "disk of another: one line, nothing written, machine off": "wrong",
    "disk read-only: one line, nothing written, machine off": "read_only",
    "disk full: one line, machine off": "full",
}
SERVERS = {
    "server answers 200 too early": "answers_too_early",
    "server needs a key": "needs_a_key",
    "server serves another model": "serves_another_model",
    "server dies mid-run": "dies_in_mid_run",
    "server never comes": "never_comes",
}
IDLE = {
    "idle truth table whole": "is_whole",
    "idle truth table, each cell": "each_cell",
    "store away: off after its patience, next boot holds first": "store_away",
}


def main(argv: list[str] | None = None) -> int:
    """The exit code of the program."""
    return run("guest", "The guest, whole.", shows, argv)


def shows(stage: Stage) -> list[Show]:
    """In this order: quick ones first."""
    return [
        Show("disks", lambda: family(stage, "test_disk_", DISKS)),
        Show("servers", lambda: family(stage, "test_server_", SERVERS)),
        Show("idle", lambda: family(stage, "test_idle_table_", IDLE)),
        Show("complaints", lambda: complaints(stage, COMPLAINTS)),
        Show("drills", lambda: drills(stage)),
        Show("kill -9 at every write", lambda: kills(stage)),
        Show("an Inspect run of 5,000 samples", lambda: large(stage)),
    ]
