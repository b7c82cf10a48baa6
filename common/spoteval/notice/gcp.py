"""Notice source `gcp`: the key `instance/preempted` of the metadata server, by long poll.

Source: cloud.google.com/compute/docs/instances/create-use-spot and …/metadata/querying-metadata.
"""

from spoteval.machine.metadata import ADDRESS, Metadata, Told
from spoteval.notice.clouds import GcpNoticeSettings
from spoteval.notice.contract import Notice, NoticeSource
from spoteval.notice.paced import Paced
from spoteval.settings.keys import settings_in
from spoteval.shape import Reading, Table, Unreadable

POLL_S = 20
"""A long poll; whoever waits for longer learns of a server that is away only then."""
AGAIN_S = 0.5
_PATH = "/computeMetadata/v1/instance/preempted"
_HEADERS = {"Metadata-Flavor": "Google"}


class GcpNotice:
    """`TRUE` stands until the machine is off. The first answer comes at once, the next when the value changes."""

    def __init__(self, metadata: Metadata, poll_s: int = POLL_S) -> None:
        self._metadata, self._poll_s = metadata, poll_s
        self._etag: str | None = None

    def read(self) -> Reading[Notice | None]:
        """Blocks for a poll, unless something changes. 503 is a server that restarts: not known, and asked again."""
        wait = f"?wait_for_change=true&timeout_sec={self._poll_s}&last_etag={self._etag}"
        path = _PATH + (wait if self._etag is not None else "")
        told = self._metadata.get(path, _HEADERS, self._poll_s + 5.0)
        return self._understood(told)

    def _understood(self, told: Reading[Told]) -> Reading[Notice | None]:
        if isinstance(told, Told) and told.status == 200:
            value, etag = told.text.strip(), told.headers.get("etag")
            if value in ("TRUE", "FALSE"):
                # Of a standing notice the value is read again at once, so that a withdrawal is seen.
                self._etag = etag
                return Notice(f"gcp-{etag}", "preemption", None, "gcp") if value == "TRUE" else None
            told = Unreadable("metadata: preempted is neither TRUE nor FALSE")
        self._etag = None
        return (
            told if isinstance(told, Unreadable) else Unreadable(f"metadata: status {told.status}")
        )


def gcp_notice(table: Table) -> NoticeSource:
    """The source of a VM; after an answer the next poll begins half a second later at the soonest."""
    settings = settings_in(GcpNoticeSettings, table)
    return Paced(GcpNotice(Metadata(settings.metadata_url or ADDRESS)), AGAIN_S)
