"""Notice source `aws`: spot/instance-action of the instance metadata service, version 2.

Source: docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html.
"""

from collections.abc import Callable
from datetime import timedelta

from spoteval.clock import Now, parse_stamp, read_now
from spoteval.machine.metadata import ADDRESS, Metadata, Told
from spoteval.notice.clouds import AwsNoticeSettings
from spoteval.notice.contract import Notice, NoticeSource
from spoteval.notice.paced import Paced
from spoteval.settings.keys import settings_in
from spoteval.shape import Reading, ShapeError, Table, Unreadable

EVERY_S = 2.0
DEADLINE_S = 2.0
STALE = timedelta(minutes=5)
"""A notice whose time is so long past announces nothing: it is left over from an interruption that did not come."""
_TOKEN, _TTL_S = "/latest/api/token", 21600
_ACTION = "/latest/meta-data/spot/instance-action"
_ACTIONS = ("stop", "terminate", "hibernate")


class AwsNotice:
    """404 is an ordinary answer: no notice. Whatever else is not understood is no notice either, and not none."""

    def __init__(self, metadata: Metadata, clock: Callable[[], Now] = read_now) -> None:
        self._metadata, self._clock = metadata, clock
        self._token: str | None = None

    def read(self) -> Reading[Notice | None]:
        """One question; a token that is refused is renewed once."""
        told = self._asked()
        if isinstance(told, Told) and told.status == 401:
            self._token = None
            told = self._asked()
        if isinstance(told, Unreadable):
            return told
        if told.status == 404:
            return None
        if told.status != 200:
            return Unreadable(f"metadata: status {told.status}")
        return self._notice(told)

    def _asked(self) -> Reading[Told]:
        if self._token is None:
            wanted = {"X-aws-ec2-metadata-token-ttl-seconds": str(_TTL_S)}
            token = self._metadata.ask("PUT", _TOKEN, wanted, DEADLINE_S)
            if isinstance(token, Unreadable):
                return token
            if token.status != 200:
                return Unreadable(f"metadata: no token (status {token.status})")
            self._token = token.text.strip()
        shown = {"X-aws-ec2-metadata-token": self._token}
        return self._metadata.get(_ACTION, shown, DEADLINE_S)

    def _notice(self, told: Told) -> Reading[Notice | None]:
        body = told.table()
        if not isinstance(body, dict):
            return Unreadable("metadata: instance-action is not understood")
        table = Table(body, "instance-action")
        try:
            action, when = table.choice("action", _ACTIONS), table.text("time")
            deadline = parse_stamp(when)
        except (ShapeError, ValueError):
            return Unreadable("metadata: instance-action is not understood")
        now = self._clock()
        if now.synced and now.wall - deadline > STALE:
            return None
        return Notice(f"aws-{action}-{when}", "preemption", deadline, "aws")


def aws_notice(table: Table) -> NoticeSource:
    """The source of an EC2 instance, asked every 2 s."""
    settings = settings_in(AwsNoticeSettings, table)
    return Paced(AwsNotice(Metadata(settings.metadata_url or ADDRESS)), EVERY_S)
