"""What the demo's witness is read for: an end that is missing counts only where its process was stopped."""

import pytest

from show.witness_lines import counted

FIRST = ["begin a 1 7 t", "begin b 1 7 t", "end a 1 7 t"]


@pytest.mark.parametrize(
    ("more", "stopped", "again"),
    [
        ([], set(), set()),
        (["begin c 1 8 t"], {"b/1"}, set()),
        (["begin c 1 8 t", "begin b 1 8 t"], set(), set()),
        (["begin c 1 8 t", "begin b 1 8 t", "end b 1 8 t"], set(), set()),
        (["begin a 1 8 t"], {"b/1"}, {"a/1"}),
        (["end a 1 7 t"], set(), {"a/1"}),
    ],
)
def test_only_a_stopped_process_may_leave_an_end_out(
    more: list[str], stopped: set[str], again: set[str]
) -> None:
    """In the process that began last every end has to be there."""
    seen = counted([*FIRST, *more])
    assert (seen.stopped, seen.again) == (stopped, again)
