"""One interruption that is being carried out: its marker, its steps, its end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from spoteval.clock import Now
from spoteval.control.eventlog import log_event
from spoteval.control.interrupting import close_marker, open_marker, record_step
from spoteval.control.requests import Answer
from spoteval.event import REHEARSAL, Event
from spoteval.interruption import NOT_AN_INTERRUPTION, Closed, Opened
from spoteval.machine.cgroup import Members
from spoteval.steps import Step, StepResult, run_steps
from spoteval_agents.shutdown_hook.decide import AGENT, Outcome
from spoteval_agents.shutdown_hook.target import Target

MARKER_WITHIN_S, RECORD_WITHIN_S = 0.2, 0.3
CLOSE = "close"


@dataclass(frozen=True, slots=True)
class World:
    """What an interruption acts on and through."""

    instance: str
    members: Members
    draining: Path
    docker: Path
    """Docker's socket: where it is not there, no containers are."""
    remove_containers: Path
    clock: Callable[[], Now]
    pause: Callable[[float], None]
    say: Callable[[StepResult], None]
    put_fact: Callable[[Opened], str]
    since_ns: int
    """When the session began: a file that has not changed since tells nothing of what is cut now."""


@dataclass(slots=True)
class Work:
    """What is known of the interruption so far. Records are kept while the disk takes them."""

    world: World
    target: Target | None
    opened: Opened
    marker_ms: float | None = None
    stop_s: float | None = None
    killed: int | None = None
    salvaged: int | None = None
    final: Answer | None = None
    recording: bool = field(default=True)

    @property
    def marker(self) -> str | None:
        """The id of its marker; None where there is no run to mark."""
        return self.opened.id if self.target is not None else None

    @property
    def folder(self) -> Path | None:
        """Where its records lie; None where there is no run to mark."""
        if self.target is None:
            return None
        return self.target.paths.interruptions / self.opened.id

    def elapsed_s(self) -> float:
        """Seconds since the notice or the signal was met."""
        return self.world.clock().mono_s - self.opened.at.mono_s

    def mark(self) -> None:
        """Write the marker, where there is a run to mark. Nothing comes before this."""
        if self.target is not None:
            durable = self.target.durable
            self.do("marker", MARKER_WITHIN_S, lambda _: open_marker(durable, self.opened).name)

    def do(self, name: str, within_s: float, act: Callable[[float], str]) -> None:
        """One step within its time; what came of it is kept."""
        run_steps([Step(name, within_s, act)], self._told)

    def close(self, cause: str) -> None:
        """Write how it ended; the run's events tell of it unless it was none.

        The event comes first: who is killed between the two is started again and tells it twice, and not never.
        Nothing is appended beside a closing record: once it is there, the follower publishes the steps as they are.
        """
        if cause != NOT_AN_INTERRUPTION:
            self.do("event", RECORD_WITHIN_S, lambda _: self.tell("interrupted", cause))
        self.do(CLOSE, RECORD_WITHIN_S, partial(self._close, cause))

    def tell(self, kind: str, reason: str | None) -> str:
        """Append an event to the run's."""
        if self.target is None:
            return "no run is active"
        opened, now = self.opened, self.world.clock()
        drilled = {REHEARSAL: True} if self.target.rehearsal else {}
        event = Event(
            at=now.wall,
            kind=kind,
            source=AGENT,
            instance=self.world.instance,
            session=opened.session,
            reason=reason,
            evidence=opened.notice or opened.source,
            detail={"interruption": opened.id, "took_s": round(self.elapsed_s(), 3), **drilled},
        )
        log_event(self.target.paths.events, event)
        return kind

    def outcome(self, cause: str) -> Outcome:
        """What its line says."""
        return Outcome(
            source=self.opened.source,
            window_s=self.opened.window_s or 0.0,
            marker=self.marker,
            marker_ms=self.marker_ms,
            total_s=self.elapsed_s(),
            stop_s=self.stop_s,
            killed=self.killed,
            salvaged=self.salvaged,
            final=self.final,
            cause=cause,
        )

    def _close(self, cause: str, within_s: float) -> str:  # noqa: ARG002
        if self.folder is None:
            return "no run is active"
        closed = Closed(
            id=self.opened.id,
            at=self.world.clock().mark,
            cause=cause,
            killed=self.killed or 0,
            salvaged=self.salvaged or 0,
            left=None if self.final is None else self.final.left,
            total_s=self.elapsed_s(),
        )
        return cause if close_marker(self.folder, closed) else "it was closed before"

    def _told(self, result: StepResult) -> None:
        """Keep the result, in a bounded step of its own: a disk that hangs costs one of them, not one a step."""
        if result.name == "marker":
            self.marker_ms = 1000 * self.elapsed_s() if result.ok else None
        if result.name == CLOSE and result.ok:
            self.recording = False
        self.world.say(result)
        folder = self.folder
        if folder is not None and self.recording:
            keep = Step("record", RECORD_WITHIN_S, lambda _: _kept(folder, result))
            (kept,) = run_steps([keep], _mute)
            self.recording = kept.ok
            if not kept.ok:
                self.world.say(kept)


def _kept(folder: Path, result: StepResult) -> str:
    record_step(folder, result)
    return "kept"


def _mute(result: StepResult) -> None:
    """Its failure is said by whoever asked."""
