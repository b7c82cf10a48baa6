"""From a guest's configuration to where its provider's notices are read."""

from collections.abc import Callable, Mapping
from pathlib import Path

from spoteval.notice.contract import NoticeSource
from spoteval.notice.local import LocalNotice
from spoteval.shape import Table


def open_notices(kind: str, table: Table) -> NoticeSource:
    """The notice source of this provider, with the settings of its table; raises ShapeError where one is wrong."""
    return _KINDS[kind](table)


def _local(table: Table) -> NoticeSource:
    path = Path(table.text("cloud"))
    if not path.is_absolute():
        raise table.error("cloud", "an absolute path")
    return LocalNotice(path)


_KINDS: Mapping[str, Callable[[Table], NoticeSource]] = {"local": _local}
