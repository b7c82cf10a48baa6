"""What may still run of a machine that was killed, by the lines of /proc/PID/stat."""

import pytest

from power.plugged import _letter


@pytest.mark.parametrize(
    ("stat", "letter"),
    [
        ("7 (a b) S 1 7 7 0 -1 4194560 1", "S"),  # 0x400100
        (
            "7 (a) b) S 1 7 7 0 -1 4194564 1",
            "X",
        ),  # 0x400104: exiting, and asleep until its children are gone
        ("7 (a) D 1 7 7 0 -1 4194560 1", "D"),
    ],
)
def test_who_is_on_the_way_out_does_nothing_more(stat: str, letter: str) -> None:
    """A name may hold spaces and brackets."""
    assert _letter(stat) == letter
