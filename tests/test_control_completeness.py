"""control.completeness: how many of the intended episodes are finished."""

import json
from pathlib import Path

import pytest

from spoteval.control.completeness import Completeness, Count
from spoteval.files import append_line, encoded, write_record
from spoteval.paths import RunPaths
from spoteval.shape import Unreadable


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    """A run directory."""
    return RunPaths(tmp_path)


def finish(run: RunPaths, *keys: str) -> None:
    """Witness lines."""
    for key in keys:
        append_line(run.finished, {"episode": key, "attempt": 1})


@pytest.mark.parametrize(
    ("keys", "count", "complete"),
    [
        ((), Count(0, 2), False),
        (("a",), Count(1, 2), False),
        (("a", "a"), Count(1, 2), False),
        (("a", "x"), Count(1, 2), False),
        (("a", "b"), Count(2, 2), True),
        (("a", "b", "b", "x"), Count(2, 2), True),
    ],
)
def test_keys_are_counted_once_and_only_intended_ones(
    run: RunPaths, keys: tuple[str, ...], count: Count, complete: bool
) -> None:
    """One missing is not complete; a second attempt or a stranger makes nothing more so."""
    write_record(run.intended, {"episodes": ["a", "b"]})
    finish(run, *keys)
    found = Completeness().look(run)
    assert found == count
    assert found.complete is complete


def test_before_the_first_start_nothing_is_complete(run: RunPaths) -> None:
    """Nobody knows what was intended."""
    finish(run, "a")
    found = Completeness().look(run)
    assert found == Count(1, None)
    assert not found.complete


def test_what_is_written_later_is_seen(run: RunPaths) -> None:
    """The count follows the files, and another run is another count."""
    count = Completeness()
    write_record(run.intended, {"episodes": ["a", "b"]})
    assert count.look(run) == Count(0, 2)
    finish(run, "a")
    assert count.look(run) == Count(1, 2)
    assert count.look(RunPaths(run.root / "other")) == Count(0, None)
    finish(run, "b")
    assert count.look(run) == Count(2, 2)


def test_intended_cut_at_each_byte_is_unreadable_and_mended_later(run: RunPaths) -> None:
    """Never complete by damage; read again when it is whole."""
    count, whole = Completeness(), encoded({"episodes": ["a"]})
    finish(run, "a")
    for length in range(len(whole) - 1):
        run.intended.write_bytes(whole[:length])
        assert isinstance(count.look(run), Unreadable)
    run.intended.write_bytes(whole)
    assert count.look(run) == Count(1, 1)


def test_a_torn_witness_line_counts_for_nothing(run: RunPaths) -> None:
    """Cut at each byte: the episode is finished when its line is whole."""
    write_record(run.intended, {"episodes": ["a", "b"]})
    line = json.dumps({"episode": "b"}).encode()
    for length in range(len(line)):
        run.finished.write_bytes(b'{"episode": "a"}\n' + line[:length])
        assert Completeness().look(run) == Count(1, 2)
    run.finished.write_bytes(b'{"episode": "a"}\n[1]\n\0\0\0\n' + line)
    assert Completeness().look(run) == Count(2, 2)
