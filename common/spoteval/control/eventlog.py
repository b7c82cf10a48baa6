"""Where events and decision lines are written: once, in one place."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spoteval.clock import Mark, Now, elapsed_s, stamp
from spoteval.decision import Decision, kept
from spoteval.event import NEEDS_YOU, Event
from spoteval.files import append_line, append_lines

_WARNING = "<4>"
_INFO = "<6>"


def tell(text: str, warning: bool = False) -> None:
    """One line to the journal; systemd reads the priority from its prefix."""
    sys.stderr.write(f"{_WARNING if warning else _INFO}{text}\n")
    sys.stderr.flush()


def log_event(path: Path, event: Event) -> None:
    """Append one event, durable; what needs a person is a warning in the journal too."""
    log_events(path, (event,))


def log_events(path: Path, events: Sequence[Event], *, durable: bool = True) -> None:
    """The same of several at once: one write, and one sync."""
    append_lines(path, [event.record() for event in events], durable)
    for event in events:
        if event.kind == NEEDS_YOU:
            tell(f"needs you: {event.instance}: {event.reason}", warning=True)


@dataclass(slots=True)
class DecisionLog:
    """The journal gets every change, and what stays the same every `told_every_s`; the file keeps changes and one
    line an hour."""

    path: Path | None
    limit_bytes: int = 16_000_000
    told_every_s: float = 0.0
    _word: str | None = field(default=None, init=False)
    _kept: Mark | None = field(default=None, init=False)
    _said: str | None = field(default=None, init=False)
    _told: Mark | None = field(default=None, init=False)

    def write(self, decision: Decision, now: Now) -> str:
        """Log one decision; returns its line."""
        line = decision.line()
        word = f"{decision.word} {decision.pairs.get('stage', '')}"  # another stage is a change too
        told_s = _since_s(self._told, now)
        if word != self._said or told_s is None or told_s >= self.told_every_s:
            self._said, self._told = word, now.mark
            tell(line)
        if self.path is not None and kept(self._word, word, _since_s(self._kept, now)):
            self._keep(self.path, word, line, now)
        return line

    def _keep(self, path: Path, word: str, line: str, now: Now) -> None:
        self._word, self._kept = word, now.mark
        if path.exists() and path.stat().st_size > self.limit_bytes:
            path.replace(path.with_suffix(".jsonl.1"))
        append_line(path, {"at": stamp(now.wall), "line": line}, durable=False)


def _since_s(mark: Mark | None, now: Now) -> float | None:
    """None where nobody knows: then it is told."""
    return elapsed_s(mark, now) if mark is not None else None
