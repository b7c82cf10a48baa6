"""Notice source `command`: a file that the operator's own watcher writes, or none."""

from dataclasses import dataclass, field
from pathlib import Path

from spoteval.notice.contract import Notice, NoticeSource
from spoteval.notice.file import FileNotice
from spoteval.settings.keys import key, settings_in
from spoteval.settings.kinds import ABSOLUTE
from spoteval.shape import Reading, Table


@dataclass(frozen=True, slots=True)
class CommandNoticeSettings:
    """What `[provider]` says of a node behind one's own programs."""

    notice_file: Path | None = field(
        default=None,
        metadata=key(ABSOLUTE, "written by your own watcher while a stop is announced"),
    )


class NoNotice:
    """A node that is told nothing: its shutdown is the notice."""

    def read(self) -> Reading[Notice | None]:
        """None."""
        return None


def command_notice(table: Table) -> NoticeSource:
    """The operator's file, or none."""
    path = settings_in(CommandNoticeSettings, table).notice_file
    return NoNotice() if path is None else FileNotice(path, "command")
