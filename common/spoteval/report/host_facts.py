"""What this host's own files say: the restarter's memory, the agents' last decisions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from spoteval.clock import Now, elapsed_s, parse_stamp
from spoteval.event import Event, events_from
from spoteval.files import read_lines, read_record
from spoteval.line import parse
from spoteval.paths import DurablePaths, InstancePaths
from spoteval.report.agents import is_running
from spoteval.report.rules import Counted, counted
from spoteval.shape import Reading, ShapeError, Table, Unreadable

# Decisions of the restarter, and stages of boot-resume, in which nothing is waited for.
_WORKS = frozenset(
    ["running", "starting", "stopping", "start", "stop", "run-over", "begin", "complete", ""]
)


@dataclass(frozen=True, slots=True)
class Said:
    """One kept decision line: when, by which agent, its pairs."""

    at: datetime
    agent: str
    line: str

    @property
    def pairs(self) -> Mapping[str, str]:
        """The line, taken apart."""
        return parse(self.line)


NOT_SEEN = Unreadable("not seen from here")


@dataclass(frozen=True, slots=True)
class RestarterFacts:
    """What the restarter of this host knows of one instance."""

    events: tuple[Event, ...] = ()
    state: str | None = None
    state_s: float | None = None
    age_s: float | None = None
    last: Said | None = None
    counted: Reading[Counted] = NOT_SEEN

    def assigned(self, run: str) -> datetime | None:
        """When the instance was first assigned to this run; None where that is not on record."""
        found = (event for event in self.events if event.kind == "run-assigned")
        return min((event.at for event in found if event.detail.get("run") == run), default=None)


def restarter_facts(paths: InstancePaths, now: Now) -> RestarterFacts:
    """By its files; raises OSError where one cannot be read."""
    state = read_record(paths.state)
    lines = decisions([paths.decisions])
    return RestarterFacts(
        events=events_from(read_lines(paths.events).records),
        state=_word(state) if isinstance(state, Table) else None,
        state_s=_since_s(state, now) if isinstance(state, Table) else None,
        age_s=_age_s(paths, now),
        last=lines[-1] if lines else None,
        counted=counted(state, now),
    )


def decision_files(disk: DurablePaths) -> tuple[Path, ...]:
    """The guest's kept decision lines, one file an agent."""
    return tuple(sorted((disk.root / "decisions").glob("*.jsonl")))


def decisions(files: Iterable[Path]) -> tuple[Said, ...]:
    """All kept lines of these files and of the older half beside each, oldest first. Raises OSError."""
    found = [
        said
        for file in files
        for path in (file.with_suffix(".jsonl.1"), file)
        for record in read_lines(path).records
        if (said := _said(record, file.stem)) is not None
    ]
    return tuple(sorted(found, key=lambda said: said.at))


def waiting_of(said: Said | None) -> str | None:
    """What a decision line waits for, in words; None where it works."""
    pairs = said.pairs if said is not None else {}
    word, stage = pairs.get("decision", ""), pairs.get("stage", "")
    if word in _WORKS or (word == "wait" and stage in _WORKS):
        return None
    head = " ".join(filter(None, (stage, pairs.get("name")))) if word == "wait" else word
    text = next((pairs[key] for key in ("hold_reason", "why", "saw") if key in pairs), None)
    return f"{head}: {text}" if text else head


def _said(record: Mapping[str, object], agent: str) -> Said | None:
    at, line = record.get("at"), record.get("line")
    if not (isinstance(at, str) and isinstance(line, str)):
        return None
    try:
        return Said(parse_stamp(at), parse(line).get("agent", agent), line)
    except ValueError:
        return None


def _word(state: Table) -> str | None:
    word = state.values.get("word")
    return word if isinstance(word, str) else None


def _since_s(state: Table, now: Now) -> float | None:
    try:
        since = state.maybe_mark("since")
    except ShapeError:
        return None
    return elapsed_s(since, now) if since is not None else None


def _age_s(paths: InstancePaths, now: Now) -> float | None:
    """0 while the restarter lives: what it knows is the present. Else the age of its youngest file."""
    if is_running(paths.state_root / "restarter.lock"):
        return 0.0
    files = (paths.state, paths.decisions, paths.events)
    ages = [now.wall.timestamp() - path.stat().st_mtime for path in files if path.exists()]
    return max(0.0, min(ages)) if ages else None
