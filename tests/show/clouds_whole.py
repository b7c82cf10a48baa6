"""The clouds, whole: every provider through its fake, what its pages promise, and what its users complain of."""

from collections.abc import Iterator

from show.cloud_bench_lines import marker, polls, polls_s3
from show.cloud_lines import calls, details, rights, scenarios
from show.complaint_lines import complaints
from show.lines import Line, Show
from show.named_lines import family, named
from show.program import run
from show.stage import Stage

COMPLAINTS = ("10", "11", "17", "22", "24", "26", "32", "34", "35", "36", "38", "40")
NOTICES = {
    "notices: none, a notice, none again, on each cloud": "none_then_a_notice",
    "notices: what is not understood is neither a notice nor none": "what_is_not_understood",
    "notices: 24 h of a flapping metadata service": "24_h",
}

ALONE = {
    "a pod in namespaces is taken, comes back, ends and stops itself": "test_a_pod_is_taken",
    "key files: signed, exchanged, quoted nowhere": "test_a_key_is_exchanged",
    "a drill of the provider reads alone unless told more": "test_it_only_reads",
    "an Azure VM deallocates itself": "test_an_azure_vm_deallocates_itself",
}
CI = ("nebius", "runpod")
"""Whose scenarios --ci plays: the others are played by the tests that it runs before."""


def main(argv: list[str] | None = None) -> int:
    """The exit code of the program."""
    return run("clouds", "The clouds, whole.", shows, argv)


def shows(stage: Stage) -> list[Show]:
    """In this order. --ci leaves out what the tests play already, and what takes a quiet machine."""
    if stage.ci:
        return [
            Show("scenarios", lambda: scenarios(stage, CI)),
            Show("one request for each start", lambda: calls(stage, CI)),
            Show("rights", lambda: rights(stage, CI)),
            Show("single things", lambda: alone(stage)),
        ]
    return [
        Show("scenarios", lambda: scenarios(stage)),
        Show("one request for each start", lambda: calls(stage)),
        Show("rights", lambda: rights(stage)),
        Show("decisions without optional rights", lambda: details(stage)),
        Show("single things", lambda: alone(stage)),
        Show("notices", lambda: family(stage, "test_cloud_notice_", NOTICES)),
        Show("poll of 1,000 over three fakes", lambda: polls(stage)),
        Show("poll of 1,000 over three fakes, in S3", lambda: polls_s3(stage)),
        Show("marker after a notice", lambda: marker(stage)),
        Show("complaints", lambda: complaints(stage, COMPLAINTS)),
    ]


def alone(stage: Stage) -> Iterator[Line]:
    """What single tests show."""
    for what, prefix in ALONE.items():
        yield from named(stage, what, prefix)
