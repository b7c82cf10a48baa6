"""That somebody keeps the machine on, told hour by hour: else the restarter, as the third ender, stops it."""

from dataclasses import dataclass, field

from spoteval.clock import Mark, Now, elapsed_s
from spoteval.control import children
from spoteval.control.children import Ask
from spoteval.control.eventlog import tell
from spoteval.control.facts import keep_fact
from spoteval.control.worker import Work, Working
from spoteval.shape import Reading, Unreadable

KEEP = "keep"
"""The name of this work beside the loop."""
CHILD_S, AGAIN_S = 60.0, 60.0


@dataclass(slots=True)
class Keeping:
    """Puts one fact an hour by a child while something keeps the machine on. A new process puts the hour's again,
    which changes nothing."""

    agent: str
    worker: Working
    ask: Ask = children.ask
    _asked: str = field(default="", init=False)
    _told: str = field(default="", init=False)
    _failed: Mark | None = field(default=None, init=False)

    def cycle(self, kept: bool, now: Now) -> None:
        """Hear of the last put, and begin the next one where it is due and nothing else is under way."""
        if (said := self.worker.take(KEEP)) is not None:
            self._heard(said, now)
        name = keep_fact(now.wall)
        waited_s = elapsed_s(self._failed, now) if self._failed is not None else None
        rests = waited_s is not None and waited_s < AGAIN_S
        if kept and name != self._told and not rests and self.worker.start(KEEP, self._put(name)):
            self._asked = name

    def _heard(self, said: Reading[str], now: Now) -> None:
        """A failure is said once, and so is its end."""
        if isinstance(said, Unreadable):
            if self._failed is None:
                tell(f"agent={self.agent} {self._asked} not put: {said.why}", warning=True)
            self._failed = now.mark
            return
        if self._failed is not None:
            tell(f"agent={self.agent} {self._asked} put")
        self._told, self._failed = self._asked, None

    def _put(self, name: str) -> Work:
        words = ["fact", "put", name, "--body", f'{{"by": "{self.agent}"}}']
        return lambda: children.done(self.ask(words, CHILD_S))
