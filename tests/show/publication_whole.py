"""Publication, whole: what it costs, that it needs a put-only key, that no fault loses, tears or doubles anything."""

from show.complaint_lines import complaints
from show.failure_lines import failures
from show.fault_lines import faults
from show.lines import Show
from show.named_lines import family, named
from show.program import run
from show.publication_bench_lines import table
from show.stage import Stage

COMPLAINTS = ("56", "57", "59", "61", "62", "63", "65", "67", "68", "69", "75")
FAILURES = tuple(range(1, 22))
PULL = {
    "pull: byte-exact tree, empty directories, modes, links, odd names": "a_tree_comes_back",
    "pull: killed anywhere and run again, it goes on": "killed_anywhere",
    "pull: a full disk is said, loses nothing, and is gone on with": "a_full_disk",
    "verify --store-only: every difference in the store is named": "store_only",
}
PAGES = {
    "policies of docs/stores, pasted, on a service with users": "policies",
    "check tries what the key may and may not, releases included": "check",
    "what a store cannot do is said and recorded": "cannot",
}


def main(argv: list[str] | None = None) -> int:
    """The exit code of the program."""
    return run("publication", "Publication, whole.", shows, argv)


def shows(stage: Stage) -> list[Show]:
    """In this order: quick ones first."""
    return [
        Show("failures", lambda: failures(stage, FAILURES)),
        Show("complaints", lambda: complaints(stage, COMPLAINTS)),
        Show("pull", lambda: family(stage, "test_pull_", PULL)),
        Show("store pages", lambda: family(stage, "test_store_page_", PAGES)),
        Show("put-only", lambda: named(stage, PUT_ONLY, "test_put_only_")),
        Show("faults", lambda: faults(stage)),
        Show("table", lambda: table(stage)),
    ]


PUT_ONLY = "follower under the put-only policy: PUT and multipart calls alone"
