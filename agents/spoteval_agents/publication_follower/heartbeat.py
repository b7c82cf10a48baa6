"""A sign of life with progress, for those who see only the store: on change, else every five minutes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from spoteval.clock import Mark, Now, elapsed_s, stamp
from spoteval.files import encoded, read_lines, read_record, write_record
from spoteval.harness.contract import Survey
from spoteval.paths import RunPaths
from spoteval.publication.keys import heartbeat_key
from spoteval.shape import ShapeError, Table
from spoteval.store.contract import Put, Store

EVERY_S = 300.0
UNKNOWN_STAGE = "booting"
_RESUMING = ("booted", "resume-began", "server-start", "healthy", "settled", "run-started")
_STOPPING = (
    "notice",
    "interrupted",
    "notice-expired",
    "idle-intent",
    "idle-stop",
    "end",
    "end-stop",
)
STAGES = frozenset((*_RESUMING, "first-episode", *_STOPPING))
"""Events of the guest that say how far it is."""


@dataclass(frozen=True, slots=True)
class Beat:
    """What a heartbeat says. `intended` is None until it is frozen."""

    run: str
    finished: int
    in_flight: int
    intended: int | None
    stage: str
    withheld: int = 0

    @property
    def changing(self) -> tuple[str, int, int, str, int]:
        """What makes a new heartbeat due at once."""
        return self.run, self.finished, self.in_flight, self.stage, self.withheld


def beat_of(
    paths: RunPaths,
    survey: Survey,
    session: str,
    finished: int,
    intended: int | None,
    withheld: int = 0,
) -> Beat:
    """What the run's files say now. Raises OSError."""
    settled = {str(line.get("native_id")) for line in read_lines(paths.settlement).records}
    running = [item for item in survey.in_flight if item.native_id not in settled]
    return Beat(
        run=paths.root.name,
        finished=finished,
        in_flight=len(running),
        intended=intended,
        stage=stage_of(read_lines(paths.events).records, session),
        withheld=withheld,
    )


def stage_of(events: Iterable[Mapping[str, object]], session: str) -> str:
    """The last stage that an event of this session tells; before that the machine is booting."""
    own = [str(event.get("kind")) for event in events if event.get("session") == session]
    return next((kind for kind in reversed(own) if kind in STAGES), UNKNOWN_STAGE)


def is_due(beat: Beat, last: Beat | None, since_s: float | None) -> bool:
    """On change, else every five minutes; at once where nobody knows when the last one was."""
    return last is None or beat.changing != last.changing or since_s is None or since_s >= EVERY_S


class Heart:
    """Puts heartbeats under numbers that are never used twice; the number is on the disk before the put."""

    def __init__(self, path: Path, instance: str, session: str) -> None:
        self._path, self._instance, self._session = path, instance, session
        self._number = _number(path, session)
        self._last: Beat | None = None
        self._at: Mark | None = None

    def beat(self, store: Store, beat: Beat, now: Now) -> bool:
        """Put one if it is due; returns whether one was put. Raises StoreError, OSError."""
        since_s = elapsed_s(self._at, now) if self._at is not None else None
        if not is_due(beat, self._last, since_s):
            return False
        body = {
            "instance": self._instance,
            "finished": beat.finished,
            "in_flight": beat.in_flight,
            "intended": beat.intended,
            "stage": beat.stage,
            "withheld": beat.withheld,
            "at": stamp(now.wall),
        }
        while self._put(store, beat.run, encoded(body)) is Put.EXISTS:
            continue  # the note of the last number was lost; the next free one is ours
        self._last, self._at = beat, now.mark
        return True

    def _put(self, store: Store, run: str, body: bytes) -> Put:
        self._number += 1
        write_record(self._path, {"session": self._session, "number": self._number})
        return store.put(heartbeat_key(run, self._session, self._number), body)


def _number(path: Path, session: str) -> int:
    """The last number of this session; 0 where nothing is known of it."""
    found = read_record(path)
    try:
        known = isinstance(found, Table) and found.text("session") == session
        return found.whole("number") if known and isinstance(found, Table) else 0
    except ShapeError:
        return 0
