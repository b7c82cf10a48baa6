"""A notice in a file: what the local node's driver and an operator's own watcher write."""

from pathlib import Path

from spoteval.files import read_record
from spoteval.notice.contract import Notice
from spoteval.shape import Reading, ShapeError, Table, Unreadable


class FileNotice:
    """The notice in a file that is there while one stands: `{"format": 1, "id": …, "kind": …, "deadline": …}`."""

    def __init__(self, path: Path, source: str) -> None:
        self._path = path
        self._source = source

    def read(self) -> Reading[Notice | None]:
        """The notice that stands now. Does not block."""
        found = read_record(self._path)
        return _notice(found, self._source) if isinstance(found, Table) else found


def _notice(table: Table, source: str) -> Reading[Notice | None]:
    try:
        deadline = table.maybe_moment("deadline")
        return Notice(table.text("id"), table.text("kind"), deadline, source)
    except ShapeError as error:
        return Unreadable(str(error))
