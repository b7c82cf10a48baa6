"""Notice source `azure`: scheduled events of the instance metadata service.

Source: learn.microsoft.com/azure/virtual-machines/linux/scheduled-events.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from spoteval.machine.metadata import ADDRESS, Metadata, Told
from spoteval.notice.clouds import AzureNoticeSettings
from spoteval.notice.contract import Notice, NoticeSource
from spoteval.notice.paced import Paced
from spoteval.settings.keys import settings_in
from spoteval.shape import Reading, Table, Unreadable

EVERY_S = 1.0
FIRST_S, DEADLINE_S = 130.0, 5.0
"""The first question switches the service on, which may take two minutes to answer; later ones come at once."""
_EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
_NAME = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
_HEADERS = {"Metadata": "true"}
_A_NAME = re.compile(r"[\w.-]{1,64}")
_TAKES = ("Preempt", "Terminate")
_STANDS = ("Scheduled", "Started")


class AzureNotice:
    """An event that takes this machine, by its own name: those of its neighbours in a set are listed too."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self._name: str | None = None
        self._is_on = False

    def read(self) -> Reading[Notice | None]:
        """One question. It is never answered with a word of ours: an event that is acknowledged comes sooner."""
        if self._name is None:
            named = self._metadata.get(_NAME, _HEADERS, DEADLINE_S)
            if isinstance(named, Unreadable):
                return named
            if named.status != 200 or not _A_NAME.fullmatch(named.text.strip()):
                return Unreadable(f"metadata: no name of this machine (status {named.status})")
            self._name = named.text.strip().casefold()
        told = self._metadata.get(_EVENTS, _HEADERS, DEADLINE_S if self._is_on else FIRST_S)
        return self._understood(told)

    def _understood(self, told: Reading[Told]) -> Reading[Notice | None]:
        if isinstance(told, Unreadable):
            return told
        if told.status != 200:
            return Unreadable(f"metadata: status {told.status}")
        body = told.table()
        events = body.get("Events") if isinstance(body, dict) else None
        if not isinstance(events, list):
            return Unreadable("metadata: scheduled events are not understood")
        self._is_on = True
        own = (event for event in events if self._takes_us(event))
        return next((_notice(event) for event in own), None)

    def _takes_us(self, event: Any) -> bool:
        if not isinstance(event, Mapping) or event.get("EventType") not in _TAKES:
            return False
        names = event.get("Resources")
        listed = [str(name).casefold() for name in names] if isinstance(names, list) else []
        return event.get("EventStatus") in _STANDS and self._name in listed


def _notice(event: Mapping[str, Any]) -> Notice:
    """`NotBefore` is empty once it has begun."""
    return Notice(f"azure-{event.get('EventId')}", "preemption", _when(event), "azure")


def _when(event: Mapping[str, Any]) -> datetime | None:
    try:
        found = parsedate_to_datetime(str(event.get("NotBefore") or ""))
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def azure_notice(table: Table) -> NoticeSource:
    """The source of a VM, asked every second."""
    settings = settings_in(AzureNoticeSettings, table)
    return Paced(AzureNotice(Metadata(settings.metadata_url or ADDRESS)), EVERY_S)
