"""One cycle of the hook: decide, and carry out; what it remembers between cycles."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from spoteval.clock import Mark, Now, elapsed_s
from spoteval.config.guest import GuestConfig
from spoteval.control.enders import enders, standing
from spoteval.control.eventlog import DecisionLog
from spoteval.control.guest import decisions_of
from spoteval.decision import HOUR_S, Decision
from spoteval.files import remove
from spoteval.interruption import (
    NOT_AN_INTERRUPTION,
    PREEMPTED,
    UNDECIDED,
    UNKNOWN,
    Opened,
    interruption_id,
)
from spoteval.machine.systemd import Notifier
from spoteval.notice.contract import Notice
from spoteval.paths import HostPaths
from spoteval.shape import Reading, Unreadable
from spoteval.steps import Step, StepResult, run_steps
from spoteval_agents.shutdown_hook.decide import (
    AGENT,
    EXPIRED_AFTER_S,
    NOTICE,
    SHUTDOWN,
    Current,
    Seen,
    State,
    announced_s,
    cause,
    decide,
    is_shutdown,
    line,
    not_an_interruption,
)
from spoteval_agents.shutdown_hook.plan import plan_for
from spoteval_agents.shutdown_hook.stages import carry_out
from spoteval_agents.shutdown_hook.target import Target, recalled, unfinished
from spoteval_agents.shutdown_hook.work import Work, World

LINE_WITHIN_S, CAUSE_WITHIN_S, ASK_WITHIN_S = 0.5, 0.3, 2.0
REBOOT_WITHIN_S = 0.25
_KEEP_EVERY_S, _KEEP_S = 1.0, 10.0


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a cycle gets its readings; none of them blocks, but the questions to systemd."""

    notice: Callable[[], Reading[Notice | None]]
    target: Callable[[], Reading[Target | None]]
    stopping: Callable[[float], Reading[bool]]
    rebooting: Callable[[float], Reading[bool]]


@dataclass(slots=True)
class Hook:
    """What a cycle works with, and what it knows."""

    config: GuestConfig
    host: HostPaths
    session: str
    world: World
    sources: Sources
    notifier: Notifier
    log: DecisionLog
    expired_after_s: float = EXPIRED_AFTER_S
    state: State = field(default_factory=State)
    _line: str = field(default="", init=False)
    _said: Mark | None = field(default=None, init=False)

    def recall(self, now: Now) -> None:
        """At the start: what an earlier hook of this session was in the middle of."""
        target = self.sources.target()
        if not isinstance(target, Target):
            return
        self.state = recalled(target, self.session, self.host.draining.exists())
        found = unfinished(target, self.session)
        if found is None or found.opened.source != SHUTDOWN:
            return
        if self.sources.stopping(ASK_WITHIN_S) is not True:
            # The session went on after it: its hook was killed while our unit was restarted.
            opened = replace(found.opened, at=now.mark)
            Work(self.world, target, opened).close(NOT_AN_INTERRUPTION)

    def cycle(self, now: Now, terminated: bool) -> bool:
        """Decide and act once; False ends the process. Nothing comes before the marker but the decision."""
        target, notice = self.sources.target(), self.sources.notice()
        run = target.run if isinstance(target, Target) else target
        decision = decide(Seen(notice, terminated, run), self.state, self.expired_after_s, now)
        if decision.word == "interrupt":
            announced = notice if decision.pairs["source"] == NOTICE else None
            return self._interrupt(
                target, announced if isinstance(announced, Notice) else None, now
            )
        if decision.word == "notice-expired":
            self._expire(target, still_stands=notice is not None)
        self._say(decision, now)
        return decision.word != "leave"

    def _interrupt(self, target: Reading[Target | None], notice: Notice | None, now: Now) -> bool:
        work = self._begun(target, notice, now)
        work.mark()
        if notice is None:
            stopping = self.sources.stopping(ASK_WITHIN_S)
            if not is_shutdown(stopping, self.host.restarting.exists()):
                work.close(NOT_AN_INTERRUPTION)
                self._say(not_an_interruption(work.marker, stopping), now)
                return False
        window_s = work.opened.window_s or 0.0
        with Keeping(self.notifier):
            carry_out(work, plan_for(window_s, self.config.shutdown))
            found = self._cause(work)
            work.close(found)
            why = target.why if isinstance(target, Unreadable) else None
            self._say(line(work.outcome(found), why), now)
        if notice is not None:
            self.state = replace(
                self.state, current=Current(now.mark, window_s, notice.id, work.marker)
            )
        return notice is not None

    def _begun(self, target: Reading[Target | None], notice: Notice | None, now: Now) -> Work:
        """The interruption of this moment; one that a hook before us did not finish goes on under its id."""
        current, window_s = self.state.current, self.config.notice_window_s
        known = current.id if current is not None else None
        found = target if isinstance(target, Target) else None
        source = SHUTDOWN if notice is None else NOTICE
        opened = Opened(
            id=known or interruption_id(now.wall, self.session, source),
            run=found.run if found is not None else "",
            session=self.session,
            at=now.mark,
            source=source,
            cause=UNDECIDED,
            window_s=window_s if notice is None else announced_s(notice, window_s, now),
            notice=None if notice is None else notice.id,
        )
        return Work(self.world, found, opened)

    def _cause(self, work: Work) -> str:
        """Asked at the end: a notice may come after the signal. Bounded, for it is read from the disk.

        What else systemd says is asked for only where nobody has told the cause.
        """
        found = UNKNOWN

        def look(_: float) -> str:
            nonlocal found
            target, notice = work.target, self.sources.notice()
            ender = None
            if target is not None:
                seen = enders(target.durable.enders)
                ender = standing(seen, self.session) if isinstance(seen, tuple) else None
            stands = isinstance(notice, Notice) and notice.id not in self.state.spent
            found = cause(work.opened.notice is not None or stands, ender)
            if found == UNKNOWN and ender is None:
                found = cause(
                    announced=False, ender=None, rebooting=self.sources.rebooting(REBOOT_WITHIN_S)
                )
            return found

        work.do("cause", CAUSE_WITHIN_S, look)
        return PREEMPTED if work.opened.notice is not None else found

    def _expire(self, target: Reading[Target | None], still_stands: bool) -> None:
        """The machine was not taken: boot-resume may go on. The same notice announces nothing any more."""
        current = self.state.current
        if current is None:
            return
        if isinstance(target, Target) and current.id is not None:
            opened = Opened(
                current.id, target.run, self.session, current.at, NOTICE, notice=current.notice
            )
            work = Work(self.world, target, opened, recording=not current.done)
            if not current.done:
                work.close(PREEMPTED)
            work.do("event", LINE_WITHIN_S, lambda _: work.tell("notice-expired", None))
        remove(self.host.draining)
        met = {current.notice} if still_stands and current.notice is not None else set()
        self.state = State(None, self.state.spent | met)

    def _say(self, decision: Decision, now: Now) -> None:
        """Each change of the line, and one an hour; in a bounded step, for the file copy lies on the disk."""
        text = decision.line()
        since_s = elapsed_s(self._said, now) if self._said is not None else None
        if text == self._line and since_s is not None and since_s < HOUR_S:
            return
        self._line, self._said = text, now.mark
        target = self.sources.target()
        if isinstance(target, Target):
            self.log.path = decisions_of(target.durable, AGENT)
        run_steps([Step("line", LINE_WITHIN_S, lambda _: self.log.write(decision, now))], _mute)


class Keeping:
    """While an interruption is carried out: a sign of life, and more time to stop, every second."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier, self._over = notifier, threading.Event()

    def __enter__(self) -> None:
        threading.Thread(target=self._keep, name="keeping", daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _keep(self) -> None:
        while not self._over.is_set():
            self._notifier.extend_timeout(_KEEP_S)
            self._notifier.watchdog()
            self._over.wait(_KEEP_EVERY_S)


def _mute(result: StepResult) -> None:
    """A line that could not be kept is in the journal."""
