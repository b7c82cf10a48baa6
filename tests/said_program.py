"""A program that says what a test wants, in place of `process.run`."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from spoteval.machine.process import Finished


@dataclass
class Said:
    """What it says, and what it was asked."""

    out: str = ""
    code: int = 0
    timed_out: bool = False
    err: str = ""
    asked: list[list[str]] = field(default_factory=list)

    def __call__(self, argv: Sequence[str], timeout_s: float) -> Finished:
        self.asked.append(list(argv))
        return Finished(self.code, self.out, self.err, self.timed_out, 0.1)
