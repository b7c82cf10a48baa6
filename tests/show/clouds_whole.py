"""The clouds, whole: every provider through its fake, what its pages promise, and what its users complain of."""

from show.cloud_bench_lines import marker, polls
from show.cloud_lines import rights, scenarios
from show.complaint_lines import complaints
from show.lines import Show
from show.named_lines import family
from show.program import run
from show.stage import Stage

COMPLAINTS = ("10", "11", "17", "22", "24", "26", "32", "34", "35", "36", "38", "40")
NOTICES = {
    "notices: none, a notice, none again, on each cloud": "none_then_a_notice",
    "notices: what is not understood is neither a notice nor none": "what_is_not_understood",
    "notices: 24 h of a flapping metadata service": "24_h",
}


def main(argv: list[str] | None = None) -> int:
    """The exit code of the program."""
    return run("clouds", "The clouds, whole.", shows, argv)


def shows(stage: Stage) -> list[Show]:
    """In this order."""
    return [
        Show("scenarios", lambda: scenarios(stage)),
        Show("rights", lambda: rights(stage)),
        Show("notices", lambda: family(stage, "test_cloud_notice_", NOTICES)),
        Show("poll of 1,000 over three fakes", lambda: polls(stage)),
        Show("marker after a notice", lambda: marker(stage)),
        Show("complaints", lambda: complaints(stage, COMPLAINTS)),
    ]
