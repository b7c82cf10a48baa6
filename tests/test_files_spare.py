"""files.spare and files.copy: space taken in advance, and copies that end in time."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from spoteval.files import copy_file, lay_spare, move_spare, read_record, write_spare
from spoteval.files.spare import SIZE_BYTES
from spoteval.shape import Table, Unreadable

RECORD = {"id": "x", "cause": "undecided"}


def test_a_record_moves_into_place_with_its_folder(tmp_path: Path) -> None:
    """The same inode and block: nothing is allocated when it is written, nothing is left of the blanks."""
    spare, target = tmp_path / "spare", tmp_path / "i" / "1"
    target.parent.mkdir()
    lay_spare(spare, "opened.json")
    before = (spare / "opened.json").stat()
    assert before.st_size == SIZE_BYTES
    assert write_spare(spare, "opened.json", RECORD, target)
    after = (target / "opened.json").stat()
    assert (after.st_ino, after.st_blocks) == (before.st_ino, before.st_blocks)
    assert json.loads((target / "opened.json").read_bytes()) == {"format": 1, **RECORD}
    assert not spare.exists()


def test_without_a_spare_it_is_written_the_ordinary_way(tmp_path: Path) -> None:
    """A run that began a moment ago has none yet."""
    assert write_spare(tmp_path / "spare", "opened.json", RECORD, tmp_path / "i" / "1")
    assert isinstance(read_record(tmp_path / "i" / "1" / "opened.json"), Table)


def test_a_folder_that_is_there_gets_the_record(tmp_path: Path) -> None:
    """Whoever came first made the folder; a record that is there stands."""
    spare, target = tmp_path / "spare", tmp_path / "i" / "1"
    target.mkdir(parents=True)
    (target / "steps.jsonl").write_text("{}\n")
    lay_spare(spare, "opened.json")
    assert write_spare(spare, "opened.json", RECORD, target)
    assert not write_spare(spare, "opened.json", {"id": "other"}, target)
    found = read_record(target / "opened.json")
    assert isinstance(found, Table)
    assert found.text("id") == "x"


@pytest.mark.parametrize(("size", "through_spare"), [(SIZE_BYTES, True), (SIZE_BYTES + 1, False)])
def test_a_record_larger_than_its_spare_is_written_the_ordinary_way(
    size: int, through_spare: bool, tmp_path: Path
) -> None:
    """Equal still fits."""
    (tmp_path / "i").mkdir()
    empty = len(b'{"format": 1, "id": ""}\n')
    lay_spare(tmp_path / "spare", "opened.json")
    write_spare(
        tmp_path / "spare", "opened.json", {"id": "x" * (size - empty)}, tmp_path / "i" / "1"
    )
    assert (tmp_path / "i" / "1" / "opened.json").stat().st_size == size
    assert (tmp_path / "spare").exists() is not through_spare


def test_a_crash_at_each_point_leaves_no_half_record(
    tmp_path: Path, crash_points: CrashPoints
) -> None:
    """In its place it is whole or absent; in the spare it is blank, whole, or gone."""

    def work(root: Path) -> None:
        (root / "i").mkdir(parents=True)
        lay_spare(root / "spare", "opened.json")
        write_spare(root / "spare", "opened.json", RECORD, root / "i" / "1")

    points = crash_points.count(lambda: work(tmp_path / "whole"))
    assert points >= 6
    for n in range(1, points + 1):
        root = tmp_path / str(n)
        with pytest.raises(Crash), crash_points.crash_at(n):
            work(root)
        assert not isinstance(read_record(root / "i" / "1" / "opened.json"), Unreadable)


def test_a_spare_cut_between_writing_and_moving_is_moved_later(
    tmp_path: Path, crash_points: CrashPoints
) -> None:
    """What was written there is not lost."""
    spare, target = tmp_path / "spare", tmp_path / "i" / "1"
    target.parent.mkdir()
    lay_spare(spare, "opened.json")
    with pytest.raises(Crash), crash_points.crash_at(2):
        write_spare(spare, "opened.json", RECORD, target)
    assert isinstance(read_record(spare / "opened.json"), Table)
    move_spare(spare, target)
    assert isinstance(read_record(target / "opened.json"), Table)


def test_a_second_laying_does_not_touch_the_first(tmp_path: Path) -> None:
    """Who lays and who fills may meet: a spare appears as a whole or not at all."""
    lay_spare(tmp_path / "spare", "opened.json")
    (tmp_path / "spare" / "opened.json").write_text("filled")
    with pytest.raises(OSError, match=os.strerror(errno.ENOTEMPTY)):
        lay_spare(tmp_path / "spare", "opened.json")
    assert (tmp_path / "spare" / "opened.json").read_text() == "filled"


def asked(answers: int) -> Callable[[], bool]:
    """Says yes so many times, then no."""
    left = [True] * answers
    return lambda: bool(left) and left.pop()


def test_a_copy_is_whole_and_has_no_leftovers(tmp_path: Path) -> None:
    """Of several slices, and of none."""
    for name, size in (("big", 3 * (1 << 20) + 7), ("empty", 0)):
        (tmp_path / name).write_bytes(os.urandom(size))
        assert copy_file(tmp_path / name, tmp_path / "to" / name, lambda: True)
        assert (tmp_path / "to" / name).read_bytes() == (tmp_path / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "to").iterdir()) == ["big", "empty"]


@pytest.mark.parametrize(("answers", "done"), [(0, False), (2, False), (3, True)])
def test_a_copy_is_given_up_when_time_is_over(answers: int, done: bool, tmp_path: Path) -> None:
    """Two slices and the look that finds the end need three answers; one fewer leaves nothing behind."""
    (tmp_path / "big").write_bytes(b"x" * (2 << 20))
    assert copy_file(tmp_path / "big", tmp_path / "to" / "big", asked(answers)) is done
    assert [path.name for path in (tmp_path / "to").iterdir()] == (["big"] if done else [])


def test_a_copy_follows_no_link_and_says_what_is_missing(tmp_path: Path) -> None:
    """An agent under evaluation may put links where we look."""
    (tmp_path / "link").symlink_to("/etc/hostname")
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        copy_file(tmp_path / "link", tmp_path / "to", lambda: True)
    with pytest.raises(FileNotFoundError):
        copy_file(tmp_path / "none", tmp_path / "to", lambda: True)
    assert not (tmp_path / "to").exists()
