"""What episodes say about themselves."""

import os
from pathlib import Path

import pytest

from spoteval.clock import parse_stamp
from spoteval.local import witness


def test_a_line_says_who_and_when(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Word, sample, epoch, process, time; appended, never written over."""
    monkeypatch.setenv("SPOTEVAL_WITNESS", str(tmp_path / "w"))
    witness.write("begin", "item-1", 2)
    witness.write("end", 7, 1)
    first, second = [line.split() for line in (tmp_path / "w").read_text().splitlines()]
    assert first[:4] == ["begin", "item-1", "2", str(os.getpid())]
    assert second[:3] == ["end", "7", "1"]
    assert parse_stamp(first[4]) <= parse_stamp(second[4])


def test_nobody_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variable, or with an empty one, nothing is written."""
    monkeypatch.chdir(tmp_path)
    for value in (None, ""):
        monkeypatch.delenv("SPOTEVAL_WITNESS", raising=False)
        if value is not None:
            monkeypatch.setenv("SPOTEVAL_WITNESS", value)
        assert witness.path() is None
        witness.write("begin", 1, 1)
    assert list(tmp_path.iterdir()) == []
