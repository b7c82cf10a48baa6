"""Notice source `local`: the metadata service of a local node is one file."""

from dataclasses import dataclass, field
from pathlib import Path

from spoteval.local.cloud import CloudFiles
from spoteval.notice.contract import NoticeSource
from spoteval.notice.file import FileNotice
from spoteval.settings.keys import key, settings_in
from spoteval.settings.kinds import ABSOLUTE
from spoteval.shape import Table


@dataclass(frozen=True, slots=True)
class LocalNoticeSettings:
    """What `[provider]` says of a local node."""

    cloud: Path | None = field(
        default=None, metadata=key(ABSOLUTE, "the node's directory in the local cloud")
    )


def local_notice(table: Table) -> NoticeSource:
    """The source of a local node; raises ShapeError without `cloud`."""
    cloud = settings_in(LocalNoticeSettings, table).cloud
    if cloud is None:
        raise table.error("cloud", "an absolute path")
    return FileNotice(CloudFiles(cloud).notice, "local")
