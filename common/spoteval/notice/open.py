"""From a guest's configuration to where its provider's notices are read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spoteval.notice.clouds import (
    AwsNoticeSettings,
    AzureNoticeSettings,
    GcpNoticeSettings,
    NebiusNoticeSettings,
    RunpodNoticeSettings,
)
from spoteval.notice.command import CommandNoticeSettings, NoNotice, command_notice
from spoteval.notice.contract import NoticeSource
from spoteval.notice.local import LocalNoticeSettings, local_notice
from spoteval.shape import Table


def _aws(table: Table) -> NoticeSource:
    from spoteval.notice.aws import aws_notice

    return aws_notice(table)


def _gcp(table: Table) -> NoticeSource:
    from spoteval.notice.gcp import gcp_notice

    return gcp_notice(table)


def _azure(table: Table) -> NoticeSource:
    from spoteval.notice.azure import azure_notice

    return azure_notice(table)


def _nebius(table: Table) -> NoticeSource:
    from spoteval.notice.nebius import nebius_notice

    return nebius_notice(table)


@dataclass(frozen=True, slots=True)
class NoticeKind:
    """One kind of provider as its guest sees it: the window of its notices, what else `[provider]` may say."""

    window_s: float
    settings: type
    open: Callable[[Table], NoticeSource]


NOTICES: Mapping[str, NoticeKind] = {
    "aws": NoticeKind(120.0, AwsNoticeSettings, _aws),
    "gcp": NoticeKind(30.0, GcpNoticeSettings, _gcp),
    "azure": NoticeKind(30.0, AzureNoticeSettings, _azure),
    "nebius": NoticeKind(60.0, NebiusNoticeSettings, _nebius),
    "runpod": NoticeKind(5.0, RunpodNoticeSettings, lambda _: NoNotice()),
    "local": NoticeKind(8.0, LocalNoticeSettings, local_notice),
    "command": NoticeKind(30.0, CommandNoticeSettings, command_notice),
}


def open_notices(kind: str, table: Table) -> NoticeSource:
    """The notice source of this provider, with the settings of its table; raises ShapeError where one is wrong."""
    return NOTICES[kind].open(table)
