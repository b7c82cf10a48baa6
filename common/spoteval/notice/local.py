"""Notice source `local`: the metadata service of a local node is one file."""

from pathlib import Path

from spoteval.files import read_record
from spoteval.local.cloud import CloudFiles
from spoteval.notice.contract import Notice
from spoteval.shape import Reading, ShapeError, Table, Unreadable


class LocalNotice:
    """The notices of one instance of the local cloud in `root`."""

    def __init__(self, root: Path) -> None:
        self._path = CloudFiles(root).notice

    def read(self) -> Reading[Notice | None]:
        """The notice that stands now. Does not block."""
        found = read_record(self._path)
        return _notice(found) if isinstance(found, Table) else found


def _notice(table: Table) -> Reading[Notice | None]:
    try:
        deadline = table.maybe_moment("deadline")
        return Notice(table.text("id"), table.text("kind"), deadline, "local")
    except ShapeError as error:
        return Unreadable(str(error))
