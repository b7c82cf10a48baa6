"""Markers that cannot be read are told to a person, once."""

from pathlib import Path

import pytest

from cli_hosts import typed
from guest_world import guest
from spoteval.control.damaged import damaged_interruptions
from spoteval.files import read_lines, write_whole


@pytest.mark.parametrize("data", [b"", b"\0" * 90, b'{"format": 1, "id": "x"', b'{"format": 1}'])
def test_a_damaged_opened_json_is_told_to_a_person_once(tmp_path: Path, data: bytes) -> None:
    """With the file and its published copy; settling goes on, and a second time tells nothing anew."""
    made = guest(tmp_path)
    made.activate()
    write_whole(made.run.interruptions / "2026-b7" / "opened.json", data)
    for _ in range(2):
        assert typed(("settle", "--by", "boot-resume"), made.environment).code == 0
    calls = [
        str(record["reason"])
        for record in read_lines(made.run.events).records
        if record["kind"] == "needs_you"
    ]
    (reason,) = calls
    assert "2026-b7" in reason
    assert reason.endswith(
        "; the published copy is runs/swe/interruptions/2026-b7/opened.json in the store"
    )


def test_a_folder_without_a_marker_is_not_damaged(tmp_path: Path) -> None:
    """A crash between the folder and its first file leaves one."""
    made = guest(tmp_path)
    assert damaged_interruptions(made.run) == ()
    (made.run.interruptions / "2026-b7").mkdir(parents=True)
    assert damaged_interruptions(made.run) == ()
