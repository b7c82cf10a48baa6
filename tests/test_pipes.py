"""Pipes where a file should be: an agent under evaluation has a shell, and to open its pipe would block for ever."""

import os
from pathlib import Path

import pytest

from spoteval.files import copy_file
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
