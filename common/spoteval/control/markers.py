"""Markers that were never written: a machine that went without a word leaves none, yet it was an interruption."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from spoteval.clock import Mark, stamp
from spoteval.event import Event, event_from
from spoteval.files import read_record
from spoteval.interruption import SERVER, UNDECIDED, UNKNOWN, Interruption, Opened, interruption_id
from spoteval.paths import RunPaths
from spoteval.run import RunRecord
from spoteval.shape import Table

RUN_ASKED, RUN_STARTED = "run-start", "run-started"
SERVER_DIED = "server-died"
NO_MARKER, RUN_ENDED = "no-marker", "run-ended"


@dataclass(frozen=True, slots=True)
class Start:
    """The last start of the run: when and in which session, the last sign of that session, and whether a model
    server died under it."""

    at: datetime
    session: str
    last_sign: datetime
    server_died: bool = False


def last_start(records: Iterable[Mapping[str, object]], run: RunRecord) -> Start:
    """The last start in a run's events, in the order of the file: clocks may step, the file does not.

    Where the events know of none, the making of the run stands for it, in a session that is none.
    """
    found = [event for record in records if isinstance(event := event_from(record), Event)]
    starts = [event for event in found if event.kind in (RUN_ASKED, RUN_STARTED) and event.session]
    deaths = [event.kind for event in found if event.kind in (RUN_ASKED, SERVER_DIED)]
    if not starts:
        return Start(run.created, "", run.created)
    last = starts[-1]
    signs = [event.at for event in found if event.session == last.session]
    return Start(last.at, str(last.session), max(signs), deaths[-1:] == [SERVER_DIED])


def missing_marker(
    run: RunRecord, paths: RunPaths, start: Start, known: Iterable[Interruption], session: str
) -> Opened | None:
    """The marker of the life that last started the run, where it left none; None where nothing is missing.

    A life that is over was cut by the machine's end. In this life the machine is up: then the run's processes ended
    by themselves, cause unknown unless a model server died under them, which is an interruption only if they cut
    something. The id follows from what lies on the disk, so that a second try writes the same.
    """
    if any(_covers(item, start, paths) for item in known):
        return None
    at, source, cause = (
        (start.at, RUN_ENDED, SERVER if start.server_died else UNKNOWN)
        if start.session == session
        else (start.last_sign, NO_MARKER, UNDECIDED)
    )
    life = start.session or "unknown"
    mark = Mark(at, 0.0, f"session {life}")
    return Opened(interruption_id(at, life, source), run.name, life, mark, source, cause)


def is_settled(paths: RunPaths, interruption: str) -> bool:
    """Whether the interruption has its end."""
    return (paths.interruptions / interruption / "settled.json").exists()


def _covers(item: Interruption, start: Start, paths: RunPaths) -> bool:
    """Whether the marker is of this start of the run: settled ones say of which start they were the end."""
    if not item.counts:
        return False
    settled = read_record(paths.interruptions / item.opened.id / "settled.json")
    if settled is None:
        return start.session in ("", item.opened.session)
    return isinstance(settled, Table) and settled.values.get("start") == stamp(start.at)
