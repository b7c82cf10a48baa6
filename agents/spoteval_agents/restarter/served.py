"""One instance in the loop: its next look, and what is said when its memory cannot be written."""

from dataclasses import dataclass, field

from spoteval.clock import Now
from spoteval.control.eventlog import DecisionLog, log_event, tell
from spoteval.decision import Decision
from spoteval.event import NEEDS_YOU
from spoteval.line import Value
from spoteval_agents.restarter.book import Book
from spoteval_agents.restarter.case import FILE_HOLD
from spoteval_agents.restarter.cycle import cycle
from spoteval_agents.restarter.decide import pause_s
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.telling import CLEARED, told
from spoteval_agents.restarter.world import World

TOPIC = "state-unwritable"


@dataclass(slots=True)
class Served:
    """One instance: what it is looked at through, its memory, and when its next look is due.

    `lane`: instances of one provider share a few threads, so that a slow one delays its own kind alone.
    `busy_since_s`: the moment at which the look that goes on was handed out.
    """

    world: World
    book: Book
    log: DecisionLog
    policy: Policy
    lane: str = ""
    due_s: float = 0.0
    busy_since_s: float | None = None
    failing: str | None = field(default=None, init=False)

    def serve(self) -> None:
        """One cycle, and when the next is due. A memory that cannot be written starts nothing."""
        try:
            decision = cycle(self.world, self.book, self.log, self.policy)
            pause = pause_s(decision, self.book.state, self.policy)
            self._said(None)
        except OSError as error:
            pause = self.policy.poll.every_s
            self._said(f"{error.filename}: {error.strerror}")
        self.due_s = self.world.clock().mono_s + pause

    def _said(self, error: str | None) -> None:
        """A repeated failure is said once, and its end once."""
        before, self.failing = self.failing, error
        if (error is None) == (before is None):
            return
        now = self.world.clock()
        state = self.book.state
        names = [FILE_HOLD] if state.file_hold is not None else []
        names += [item.hold.id for item in state.holds]
        pairs: dict[str, Value] = {
            "instance": self.policy.instance,
            "state": state.word,
            "error": error,
            "holds": ",".join(names) if names else "none",
        }
        word, why = TOPIC, "nothing is done while its memory cannot be written"
        if error is None:
            word, why = "state-written", "its memory can be written again"
        tell(Decision(word, pairs, why).line(), warning=error is not None)
        self._report(f"{why}: {error}" if error is not None else None, now)

    def _report(self, text: str | None, now: Now) -> None:
        """For status and monitor, where the log of events can still be written: the same disk, but no new file."""
        kind = NEEDS_YOU if text is not None else CLEARED
        detail = {"topic": TOPIC, "command": "df -h"}
        event = told(kind, self.policy, now, reason=text or "it can be written", detail=detail)
        try:
            log_event(self.world.paths.events, event)
        except OSError as error:
            tell(f"instance={self.policy.instance} event not written: {error}", warning=True)
