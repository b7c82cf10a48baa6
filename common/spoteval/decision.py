"""Decisions: one word, the facts it rests on, one line."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from spoteval.line import Value, render

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Decision:
    """What a pure `decide` answers. `line()` is the tested contract; `asks` names a dear fact it needs first."""

    word: str
    pairs: Mapping[str, Value] = field(default_factory=dict)
    why: str | None = None
    agent: str | None = None
    asks: str | None = None

    def line(self) -> str:
        """The `key=value` line: who, the decision, its facts, and last the sentence for people."""
        return render({"agent": self.agent, "decision": self.word, **self.pairs, "why": self.why})


def kept(previous: str | None, word: str, since_kept_s: float | None) -> bool:
    """Whether the file copy keeps this line: each change, and one line an hour."""
    return previous != word or since_kept_s is None or since_kept_s >= HOUR_S
