"""What is on record of a drill: by the guest's disk, or by what was published of it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from spoteval.control.facts import DRILL_STOP
from spoteval.control.interrupting import CLOSED, OPENED, SALVAGE
from spoteval.episode import Attempt, Outcome, attempt_from
from spoteval.event import Event, events_from
from spoteval.files import parse_lines, parse_record
from spoteval.interruption import Interruption, closed_from, opened_from
from spoteval.paths import DurablePaths
from spoteval.publication.layout import Layout
from spoteval.publication.tree import TreeFile, run_layout, tree_files
from spoteval.settlement import settled_attempts
from spoteval.shape import ShapeError, Table, Unreadable
from spoteval.store.contract import Store

RESUMED, EPISODES_RUN = "resume-began", "first-episode"
_READ = ("events.jsonl", "finished.jsonl", "settlement.jsonl", "intended.json", "end.json")
_FOLDER = "interruptions"


@dataclass(frozen=True, slots=True)
class Life:
    """One boot of the machine with the drill's run, and how it ended.

    `cut`: outcomes of the attempts that its end cut, as they were settled. `salvaged`: files that were copied.
    `arrived`: whether its closing record is in the store; None where nobody here can know.
    """

    session: str
    began: datetime
    resumed: datetime | None = None
    episodes: datetime | None = None
    stop: datetime | None = None
    marker: Interruption | None = None
    cut: tuple[Outcome | None, ...] = ()
    salvaged: int = 0
    arrived: bool | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A drill as it is known here. `finished`: a key for each line of the witness."""

    run: str
    lives: tuple[Life, ...] = ()
    finished: tuple[str, ...] = ()
    intended: int | None = None
    over: bool = False


def disk_evidence(disk: DurablePaths, run: str, arrived: bool | None = None) -> Evidence:
    """By the guest's own files; `arrived`: what its follower answered about everything. Raises OSError."""
    root = disk.run(run).root
    names = [str(path.relative_to(root)) for path in _below(root / _FOLDER)]
    read = (name for name in (*_READ, *names) if _is_small(name))
    texts = {name: (root / name).read_bytes() for name in read if (root / name).is_file()}
    return evidence(run, texts, names, names if arrived else () if arrived is False else None)


def store_evidence(store: Store, run: str) -> Evidence:
    """By what was published. Raises StoreError."""
    found = run_layout(store, run)
    small = Layout(
        whole={path: item for path, item in found.whole.items() if _is_small(path)},
        logs={path: item for path, item in found.logs.items() if _is_small(path)},
    )
    read = tree_files(store, run, small)
    texts = {item.path: item.data for item in read if isinstance(item, TreeFile)}
    return evidence(run, texts, found.whole, found.whole)


def evidence(
    run: str, texts: Mapping[str, bytes], names: Iterable[str], stored: Collection[str] | None
) -> Evidence:
    """From the run's small files by their path, the names below `interruptions/`, and what is in the store."""
    known = tuple(names)
    markers = _markers(texts)
    settled = parse_lines(texts.get("settlement.jsonl", b"")).records
    lives = tuple(
        _life(session, events, markers, settled, known, stored)
        for session, events in _by_session(texts).items()
    )
    finished = (
        attempt_from(line) for line in parse_lines(texts.get("finished.jsonl", b"")).records
    )
    return Evidence(
        run=run,
        lives=tuple(sorted(lives, key=lambda life: life.began)),
        finished=tuple(item.key for item in finished if isinstance(item, Attempt)),
        intended=_intended(texts.get("intended.json")),
        over="end.json" in texts,
    )


def _life(
    session: str,
    events: list[Event],
    markers: Mapping[str, Interruption],
    settled: tuple[dict[str, object], ...],
    names: tuple[str, ...],
    stored: Collection[str] | None,
) -> Life:
    marker = markers.get(session)
    name = marker.opened.id if marker is not None else None
    cut = settled_attempts([line for line in settled if line.get("interruption") == name])
    below = f"{_FOLDER}/{name}/{SALVAGE}/"
    return Life(
        session=session,
        began=events[0].at,
        resumed=_first(events, RESUMED),
        episodes=_first(events, EPISODES_RUN),
        stop=_first(events, DRILL_STOP),
        marker=marker,
        cut=tuple(attempt.outcome for attempt in cut),
        salvaged=sum(path.startswith(below) for path in names),
        arrived=None if stored is None else f"{_FOLDER}/{name}/{CLOSED}" in stored,
    )


def _by_session(texts: Mapping[str, bytes]) -> dict[str, list[Event]]:
    """Events of each life that took the run up, oldest first."""
    found: dict[str, list[Event]] = {}
    for event in events_from(parse_lines(texts.get("events.jsonl", b"")).records):
        if event.session is not None:
            found.setdefault(event.session, []).append(event)
    return {key: events for key, events in found.items() if _first(events, RESUMED) is not None}


def _first(events: Iterable[Event], kind: str) -> datetime | None:
    return next((event.at for event in events if event.kind == kind), None)


def _markers(texts: Mapping[str, bytes]) -> dict[str, Interruption]:
    """The last interruption of each session that counts."""
    found: dict[str, Interruption] = {}
    for path in sorted(texts):
        if not path.endswith(f"/{OPENED}"):
            continue
        opened = opened_from(_table(texts[path], path))
        beside = path.removesuffix(OPENED) + CLOSED
        closed = closed_from(_table(texts[beside], beside)) if beside in texts else None
        if isinstance(opened, Unreadable):
            continue
        end = None if isinstance(closed, Unreadable) else closed
        marker = Interruption(opened, end, closed_unreadable=isinstance(closed, Unreadable))
        if marker.counts:
            found[opened.session] = marker
    return found


def _table(data: bytes, place: str) -> Table:
    found = parse_record(data, place)
    return Table({}, place) if isinstance(found, Unreadable) else found


def _intended(data: bytes | None) -> int | None:
    try:
        return None if data is None else len(_table(data, "intended.json").texts("episodes"))
    except ShapeError:
        return None


def _is_small(path: str) -> bool:
    parts = path.split("/")
    is_marker = len(parts) == 3 and parts[0] == _FOLDER and parts[2] in (OPENED, CLOSED)
    return path in _READ or is_marker


def _below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
