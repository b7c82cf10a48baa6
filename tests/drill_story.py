"""The records of a drill in which all went well, made by the product's own writers; tests break one thing of it."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from spoteval.clock import Mark, stamp
from spoteval.control.byhand import MANUAL_STOP
from spoteval.control.eventlog import log_event
from spoteval.control.facts import DRILL_STOP
from spoteval.control.interrupting import close_marker, open_marker, prepare
from spoteval.episode import Attempt, Outcome
from spoteval.event import REHEARSAL, Event
from spoteval.files import append_line, write_record
from spoteval.interruption import UNKNOWN, Closed, Opened
from spoteval.paths import DurablePaths, InstancePaths, RunPaths
from spoteval.settlement import Settled

RUN = "drill-20261201t120000"
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
SESSIONS = ("aaaa0001", "aaaa0002", "aaaa0003")
BEGAN_S = (0.0, 100.0, 200.0)
STOP_S = (60.0, 130.0)
WINDOW_S = 60.0
CUT = ("2", "3")
INTENDED = ("1", "2", "3", "4")


def at(seconds: float) -> datetime:
    """So long after the drill's begin."""
    return NOON + timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True)
class Story:
    """Where the records lie."""

    base: Path

    @property
    def disk(self) -> DurablePaths:
        """The guest's disk."""
        return DurablePaths(self.base / "durable")

    @property
    def run(self) -> RunPaths:
        """The drill's run."""
        return self.disk.run(RUN)

    @property
    def instance(self) -> InstancePaths:
        """What the restarter host keeps."""
        return InstancePaths(self.base / "state", "gpu-1")

    def marker(self, stop: int) -> Path:
        """The folder of the stop's interruption."""
        return self.run.interruptions / marker_id(stop)


def marker_id(stop: int) -> str:
    """The id of the stop's interruption."""
    return f"2026-12-01T12-0{stop}-00-000-{SESSIONS[stop - 1]}-shutdown"


def told(base: Path) -> Story:
    """A drill that passed, of both hosts."""
    story = Story(base)
    story.run.root.mkdir(parents=True)
    prepare(story.disk, story.run)
    write_record(story.run.intended, {"episodes": list(INTENDED)})
    for number, session in enumerate(SESSIONS):
        _life(story, number, session)
    for key in INTENDED:
        ended = Attempt(key, f"{key}#9", Outcome.COMPLETED, 1)
        append_line(story.run.finished, ended.record())
    for key in CUT:
        cut = replace(Attempt(key, f"{key}#1", Outcome.PREEMPTION_INTERRUPTED, 1), cut=True)
        line = Settled(marker_id(1), at(BEGAN_S[1]), "fresh_budget", cut)
        append_line(story.run.settlement, line.record())
    _restarter(story)
    return story


def _life(story: Story, number: int, session: str) -> None:
    began_s = BEGAN_S[number]
    _tell(story, began_s, "resume-began", session)
    if number != 1:
        _tell(story, began_s + 20, "first-episode", session)
    if number == len(SESSIONS) - 1:
        return
    stop_s = STOP_S[number]
    _tell(story, stop_s, DRILL_STOP, session)
    opened = Opened(
        marker_id(number + 1),
        RUN,
        session,
        Mark(at(stop_s), stop_s, "b"),
        "shutdown",
        window_s=WINDOW_S,
    )
    prepare(story.disk, story.run)
    folder = open_marker(story.disk, opened)
    salvage = folder / "salvage" / "episodes" / "2"
    salvage.mkdir(parents=True)
    (salvage / "notes.txt").write_text("began\n")
    mark = Mark(at(stop_s + 9), stop_s + 9, "b")
    close_marker(folder, Closed(opened.id, mark, UNKNOWN, salvaged=1, total_s=9.0))


def _restarter(story: Story) -> None:
    for number, stop_s in enumerate(STOP_S, start=1):
        detail = {REHEARSAL: True, "run": RUN, "stop": number, "boot_seq": number}
        for offset_s, kind in (
            (0, MANUAL_STOP),
            (12, "stopped"),
            (20, "start-asked"),
            (30, "running"),
        ):
            event = Event(at(stop_s + offset_s), kind, "restarter", "gpu-1", detail=detail)
            log_event(story.instance.events, event)


def _tell(story: Story, second: float, kind: str, session: str) -> None:
    log_event(story.run.events, Event(at(second), kind, "boot-resume", "gpu-1", session))


def without(path: Path, **pairs: object) -> None:
    """The file of lines without those that hold all these pairs."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [line for line in lines if any(line.get(key) != value for key, value in pairs.items())]
    assert len(kept) < len(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in kept))


def stamped(second: float) -> str:
    """The moment as it stands in a line."""
    return stamp(at(second))
