"""harness.begun: the first episode is seen when it begins, from few bytes."""

import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from spoteval.harness.begun import begun

SINCE = datetime(2026, 12, 1, 3, tzinfo=UTC)
BUFFERS = "home/.local/share/inspect_ai/samplebuffer/0f3a"
SCHEMA = "CREATE TABLE samples (id TEXT, epoch INTEGER, data TEXT)"
ROW = 'INSERT INTO samples VALUES (\'s1\', 1, \'{\n  "id": "s1",\n  "epoch": 1\n}\')'


def aged(path: Path, seconds: float) -> None:
    """As if it had been written so many seconds after SINCE."""
    moment = SINCE.timestamp() + seconds
    os.utime(path, (moment, moment))


def buffer(work: Path, pid: int) -> sqlite3.Connection:
    """A sample buffer as Inspect opens it: write-ahead log, schema, no sample yet."""
    folder = work / BUFFERS
    folder.mkdir(parents=True, exist_ok=True)
    opened = sqlite3.connect(folder / f"2026_demo.eval.{pid}.db")
    opened.execute("PRAGMA journal_mode=WAL")
    opened.execute(SCHEMA)
    opened.commit()
    return opened


def test_inspect_has_begun_when_a_sample_has_its_row(tmp_path: Path) -> None:
    """Not with the empty buffer, which is there a second earlier; also once SQLite has moved the row."""
    assert not begun("inspect", tmp_path, [71], SINCE)
    opened = buffer(tmp_path, 71)
    assert not begun("inspect", tmp_path, [70, 71], SINCE)
    opened.execute(ROW)
    opened.commit()
    assert begun("inspect", tmp_path, [70, 71], SINCE)
    opened.close()
    assert [path.suffix for path in (tmp_path / BUFFERS).iterdir()] == [".db"]
    assert begun("inspect", tmp_path, [71], SINCE)


def test_another_process_or_an_earlier_life_has_not_begun_ours(tmp_path: Path) -> None:
    """Buffers of cut lives lie beside it, one of them perhaps of the same pid."""
    opened = buffer(tmp_path, 71)
    opened.execute(ROW)
    opened.commit()
    opened.close()
    (path,) = (tmp_path / BUFFERS).iterdir()
    assert not begun("inspect", tmp_path, [72, 7, 711], SINCE)
    aged(path, -1)
    assert not begun("inspect", tmp_path, [71], SINCE)
    aged(path, 0)
    assert begun("inspect", tmp_path, [71], SINCE)


def test_a_directory_has_begun_when_an_episode_has_one(tmp_path: Path) -> None:
    """One that was made since the start; those of earlier lives say nothing."""
    assert not begun("directory", tmp_path, [71], SINCE)
    episode = tmp_path / "episodes" / "1"
    episode.mkdir(parents=True)
    aged(episode, -1)
    assert not begun("directory", tmp_path, [71], SINCE)
    aged(episode, 0)
    assert begun("directory", tmp_path, [71], SINCE)
