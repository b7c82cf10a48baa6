"""harness.directory_cursor: what is beyond a slice is not asked again, and all of it comes in its turn."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spoteval.harness import directory_cursor
from spoteval.harness.contract import Survey
from spoteval.harness.directory_cursor import DirectoryCursor
from spoteval.run import RunPlan, RunRecord

RUN = RunRecord(
    "r", "gpu-1", 1, datetime(2026, 12, 1, tzinfo=UTC), RunPlan("directory", "fresh_budget")
)
NAMES = ("a", "b", "c", "d", "e")


class Tree:
    """Episodes in a directory, a cursor that tells two at a time, and what was published of them."""

    def __init__(self, work: Path) -> None:
        self.work, self.closed = work, set[str]()
        self.cursor = DirectoryCursor(lambda episode, _: episode in self.closed)

    def end(self, name: str) -> None:
        """Write an episode whose directory came long ago."""
        folder = self.work / "episodes" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "episode.json").write_text("{}")
        os.utime(folder.parent, (1, 1))

    def look(self) -> Survey:
        """One look, at a time when the directory has long been at rest."""
        return self.cursor.survey(RUN, self.work, intended=False, wall_ns=10**18)

    def told(self) -> list[str]:
        """The episodes of the next slice; they are published then."""
        found = [attempt.key for attempt in self.look().attempts]
        self.closed |= set(found)
        return found


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Two episodes a slice."""
    monkeypatch.setattr(directory_cursor, "MOST", 2)
    return Tree(tmp_path)


def test_each_comes_once_and_all_come(tree: Tree) -> None:
    """Slice after slice, in the order of their names; then there is none."""
    for name in NAMES:
        tree.end(name)
    assert [tree.look().beyond, tree.told(), tree.told(), tree.told(), tree.told()] == [
        3,
        ["a", "b"],
        ["c", "d"],
        ["e"],
        [],
    ]
    assert tree.look().beyond == 0


def test_what_was_beyond_is_not_asked_again(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as slices are full, one look at each is enough."""
    for name in NAMES:
        tree.end(name)
    tree.look()
    asked, real = list[str](), directory_cursor._look

    def look(path: str | Path) -> tuple[int, int]:
        asked.append(str(path))
        return real(path)

    monkeypatch.setattr(directory_cursor, "_look", look)
    assert tree.look().beyond == 3
    ends = [Path(path).parent.name for path in asked if path.endswith("episode.json")]
    assert ends == ["a", "b"]


def test_one_that_went_away_while_it_was_told_is_forgotten(tree: Tree) -> None:
    """Set aside by a person, or by a settlement: the others are told as before."""
    for name in NAMES:
        tree.end(name)
    tree.look()
    (tree.work / "episodes" / "a").rename(tree.work / "a")
    assert tree.told() == ["b", "c"]
    assert tree.told() == ["d", "e"]
