"""The restarter, whole: it never starts wrongly and never fails to start."""

from show.complaint_lines import complaints
from show.delay_lines import delay
from show.lines import Show
from show.mutation_lines import mutation
from show.named_lines import named
from show.program import run
from show.restarter_bench_lines import bench
from show.restarter_tests import COMPLAINTS, histories, rows
from show.sim_lines import bugs, sim
from show.stage import Stage

SLOW = "one slow provider delays no other's poll"
SILENT = "100 polls of timeouts: no start call, no counter moved, one report"


def main(argv: list[str] | None = None) -> int:
    """The exit code of the program."""
    return run("restarter", "The restarter, whole.", shows, argv)


def shows(stage: Stage) -> list[Show]:
    """In this order: quick ones first."""
    return [
        Show("the six histories", lambda: histories(stage)),
        Show("rows × boundaries", lambda: rows(stage)),
        Show(SLOW, lambda: named(stage, SLOW, "test_one_slow_provider_delays_no_other")),
        Show(SILENT, lambda: named(stage, SILENT, "test_complaint_01_")),
        Show("complaints", lambda: complaints(stage, COMPLAINTS)),
        Show("stop → start", lambda: delay(stage)),
        Show("1,000 instances", lambda: bench(stage)),
        Show("mutants", lambda: mutation(stage)),
        Show("deliberate bugs", lambda: bugs(stage)),
        Show("tests/sim", lambda: sim(stage)),
    ]
