"""notice.open: from a configuration to where notices are read."""

from pathlib import Path

import pytest

from spoteval.files import write_record
from spoteval.notice.contract import Notice
from spoteval.notice.open import open_notices
from spoteval.shape import ShapeError, Table, Unreadable


def test_the_local_cloud_is_read_where_the_table_says(tmp_path: Path) -> None:
    """None without a notice; the notice while one stands."""
    source = open_notices("local", Table({"cloud": str(tmp_path)}, "provider"))
    assert source.read() is None
    notice = {"kind": "preemption", "deadline": "2026-12-01T03:00:00Z", "id": "n-1"}
    write_record(tmp_path / "notice.json", notice)
    found = source.read()
    assert isinstance(found, Notice)
    assert found.id == "n-1"


@pytest.mark.parametrize("value", ["cloud", 5])
def test_a_wrong_place_is_an_error_of_the_configuration(value: object) -> None:
    """It names the key and what is allowed."""
    with pytest.raises(ShapeError, match=r"\[provider\] cloud"):
        open_notices("local", Table({"cloud": value}, "provider"))


def test_your_own_watcher_writes_a_file(tmp_path: Path) -> None:
    """Provider `command`: the file is the notice while it is there, damaged it is unreadable, and never a notice."""
    path = tmp_path / "notice.json"
    source = open_notices("command", Table({"notice_file": str(path)}, "provider"))
    assert source.read() is None
    write_record(path, {"kind": "preemption", "deadline": None, "id": "n-1"})
    assert source.read() == Notice("n-1", "preemption", None, "command")
    path.write_text('{"format": 1, "id"')
    assert isinstance(source.read(), Unreadable)


def test_without_a_file_there_is_never_a_notice() -> None:
    """The shutdown of the machine is then the only trigger."""
    assert open_notices("command", Table({}, "provider")).read() is None
