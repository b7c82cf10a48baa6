"""The run's containers: which ones they are, and the request to have them removed, which takes root.

An agent cannot speak with Docker without being root in all but name. It writes what is to go to
`/run/spoteval/remove-containers`; who removes them removes the file when none is left.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from spoteval.clock import Now, stamp
from spoteval.control.markers import RUN_ASKED
from spoteval.event import Event, event_from
from spoteval.files import write_record
from spoteval.harness.plans import container_filters
from spoteval.run import RunRecord

DOCKER = Path("/run/docker.sock")
"""Where there is no Docker, nobody has containers to remove."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What is to go: containers that match any of the filters and began at or after `since`.

    Older ones are none of the run's, which this life of the machine started then for the first time.
    """

    filters: tuple[str, ...]
    since: datetime
    by: str


def filters_of(record: RunRecord) -> tuple[str, ...]:
    """The filters of the run, else its harness's own; none where it has no containers. Raises KeyError."""
    return record.plan.containers or container_filters(record.plan.harness)


def first_start(records: Iterable[Mapping[str, object]], session: str) -> datetime | None:
    """When this session asked for the run's first start; None where it did not."""
    found = (event_from(record) for record in records if record.get("kind") == RUN_ASKED)
    return next((e.at for e in found if isinstance(e, Event) and e.session == session), None)


def ask_removal(request: Path, removal: Removal, now: Now) -> None:
    """Ask for it; a request that stands is replaced by this one. Raises OSError."""
    body = {
        "filters": list(removal.filters),
        "since": stamp(removal.since),
        "by": removal.by,
        "at": now.record(),
    }
    write_record(request, body)
