"""Which run is active: a name in a file on the durable disk."""

from pathlib import Path

import pytest

from spoteval.control.runfiles import active_run
from spoteval.paths import DurablePaths
from spoteval.shape import Unreadable


@pytest.mark.parametrize("text", ["../../x", "/etc", "a/b", "a\nb", "."])
def test_a_name_that_is_none_is_unreadable(tmp_path: Path, text: str) -> None:
    """It would lead out of the directory of runs; every agent and command asks here."""
    disk = DurablePaths(tmp_path)
    disk.root.mkdir()
    disk.active.write_text(text)
    found = active_run(disk)
    assert isinstance(found, Unreadable)
    assert found.why.startswith(f'{disk.active}: "{text}": a run name is ')


def test_no_name_is_no_run(tmp_path: Path) -> None:
    """Absent or empty: what `rm` and a torn write leave."""
    disk = DurablePaths(tmp_path)
    assert active_run(disk) is None
    disk.root.mkdir()
    disk.active.write_text("\n")
    assert active_run(disk) is None
    disk.active.write_text("swe-1\n")
    assert active_run(disk) == "swe-1"
