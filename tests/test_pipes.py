"""Pipes where a file should be: whoever has a shell can make one, and to open it would block for ever."""

import os
from pathlib import Path

import pytest

from spoteval.files import copy_file, read_record, read_text
from spoteval.shape import Unreadable
from spoteval_agents.publication_follower.evidence import take


@pytest.mark.usefixtures("unblocked")
def test_a_pipe_is_not_published(tmp_path: Path) -> None:
    """Put in the place of a part after the listing, it costs that part and not the pass."""
    os.mkfifo(tmp_path / "part")
    with pytest.raises(ValueError, match="part: not a plain file"):
        take(tmp_path / "part", tmp_path)


@pytest.mark.usefixtures("unblocked")
def test_a_pipe_is_not_salvaged(tmp_path: Path) -> None:
    """The window of a notice is not waited away, and nothing is left behind."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a plain file"):
        copy_file(tmp_path / "pipe", tmp_path / "to" / "pipe", lambda: True)
    assert list((tmp_path / "to").iterdir()) == []


@pytest.mark.usefixtures("unblocked")
def test_a_pipe_is_an_unreadable_hold_and_record(tmp_path: Path) -> None:
    """What cannot be read holds; the process that looks goes on."""
    os.mkfifo(tmp_path / "hold")
    unreadable = Unreadable(f"{tmp_path / 'hold'}: not a plain file")
    assert read_text(tmp_path / "hold") == read_record(tmp_path / "hold") == unreadable
    assert read_text(tmp_path) == Unreadable(f"{tmp_path}: not a plain file")


def test_directories_cost_no_descriptor(tmp_path: Path) -> None:
    """Looked at once a second for days."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(8):
        read_text(tmp_path)
        with pytest.raises(ValueError, match="not a plain file"):
            take(tmp_path, tmp_path.parent)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
