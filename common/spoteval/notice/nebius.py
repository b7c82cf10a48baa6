"""Notice source `nebius`: there is no notice of a preemption but the shutdown itself. Events are read and told.

Source: docs.nebius.com/compute/virtual-machines/preemptible and …/instance-metadata (`instance-events`, live).
"""

import json
import sys
from collections.abc import Callable

from spoteval.line import flat, render
from spoteval.machine.metadata import ADDRESS, Metadata
from spoteval.notice.clouds import NebiusNoticeSettings
from spoteval.notice.contract import Notice, NoticeSource
from spoteval.notice.paced import Paced
from spoteval.settings.keys import settings_in
from spoteval.shape import Reading, Table, Unreadable

EVERY_S, DEADLINE_S = 10.0, 5.0
_PATH = "/v1/instance-events"
_LONGEST = 300


def _write(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


class NebiusNotice:
    """Which events are listed is not documented to include preemptions: whatever comes is a line, and no notice."""

    def __init__(self, metadata: Metadata, tell: Callable[[str], None] = _write) -> None:
        self._metadata, self._tell = metadata, tell
        self._told: object = None

    def read(self) -> Reading[Notice | None]:
        """None, where the service answers. Events that differ from the last ones are told."""
        told = self._metadata.get(_PATH, {"Metadata": "true"}, DEADLINE_S)
        if isinstance(told, Unreadable):
            return told
        if told.status != 200:
            return Unreadable(f"metadata: status {told.status}")
        events = told.table()
        if not isinstance(events, (list, dict)):
            return Unreadable("metadata: instance-events are not understood")
        if events and events != self._told:
            self._tell(_line(events))
        self._told = events
        return None


def _line(events: object) -> str:
    text = flat(json.dumps(events, sort_keys=True))[:_LONGEST]
    return render({"event": "instance-events", "source": "nebius", "events": text})


def nebius_notice(table: Table) -> NoticeSource:
    """The source of a VM, asked every 10 s."""
    settings = settings_in(NebiusNoticeSettings, table)
    return Paced(NebiusNotice(Metadata(settings.metadata_url or ADDRESS)), EVERY_S)
