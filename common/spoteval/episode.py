"""Episodes and attempts: what counts, and the class of each intended episode."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from spoteval.clock import stamp
from spoteval.shape import Reading, ShapeError, Table, Unreadable


class Outcome(StrEnum):
    """How one attempt ended. The first four ended by themselves; the last two were cut."""

    COMPLETED = "completed"
    MODEL_FAILURE = "model_failure"
    HARNESS_ERROR = "harness_error"
    BUDGET_SHORTENED = "budget_shortened"
    PREEMPTION_INTERRUPTED = "preemption_interrupted"
    OPERATOR_STOPPED = "operator_stopped"

    @property
    def by_itself(self) -> bool:
        """Whether an attempt with this outcome came to an end of its own."""
        return self not in (Outcome.PREEMPTION_INTERRUPTED, Outcome.OPERATOR_STOPPED)


NOT_RUN = "not_run"
RUN_NONE_AGAIN = "none"
"""The settlement under which what was cut stays cut."""
CLASSES = (*(outcome.value for outcome in Outcome), NOT_RUN)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that one attempt spent."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an attempt's evidence: a file, or one decompressed member of a container file."""

    name: str
    path: Path
    member: str | None = None


@dataclass(frozen=True, slots=True)
class Extra:
    """What lies in an attempt's folder and has no bytes: a "folder", a "link", something "special" (a pipe, a
    device), or a folder that is "unreadable"."""

    name: str
    kind: str
    mode: int = 0
    target: str | None = None
    """Where a link leads, as it says itself: nobody follows it."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One begin of an episode. `outcome` is None while nothing tells how it ended."""

    key: str
    native_id: str
    outcome: Outcome | None
    number: int = 0
    verdict: str | None = None
    limit: str | None = None
    error: str | None = None
    origin: str | None = None
    """Of a harness error: what failed, such as `model_server`; None where nothing tells."""
    usage: Usage = Usage()
    started: datetime | None = None
    ended: datetime | None = None
    session: str | None = None
    parts: tuple[Part, ...] = ()
    extras: tuple[Extra, ...] = ()
    """Besides the parts: every folder, link and special file of the attempt, where the harness keeps it in one."""
    cut: bool = False
    """Whether it was cut, whatever its outcome: an attempt that a dead model server cut is a harness error too."""
    final: bool = False
    """It was cut under the settlement "none": its episode is not run again, and no later attempt counts."""

    @property
    def finished(self) -> bool:
        """Whether it ended by itself."""
        return self.outcome is not None and self.outcome.by_itself and not self.cut

    def record(self) -> dict[str, object]:
        """The attempt as a line of the witness `finished.jsonl` or of `settlement.jsonl`.

        Parts and extras are not in it, nor `cut`: that is which of the two files it stands in.
        """
        return {
            "episode": self.key,
            "attempt": self.number,
            "native_id": self.native_id,
            "outcome": self.outcome.value if self.outcome else None,
            "verdict": self.verdict,
            "limit": self.limit,
            "error": self.error,
            "origin": self.origin,
            "input_tokens": self.usage.input_tokens,
            "output_tokens": self.usage.output_tokens,
            "started": stamp(self.started) if self.started else None,
            "ended": stamp(self.ended) if self.ended else None,
            "session": self.session,
        }


def attempt_from(record: Mapping[str, object]) -> Reading[Attempt]:
    """The attempt in a line that `Attempt.record` made, of the witness or, with its `policy`, of the settlement."""
    table = Table(record, "attempt")
    try:
        outcome = table.maybe_text("outcome")
        policy = table.maybe_text("policy")
        return Attempt(
            key=table.text("episode"),
            native_id=table.text("native_id"),
            outcome=Outcome(outcome) if outcome else None,
            number=table.whole("attempt"),
            verdict=table.maybe_text("verdict"),
            limit=table.maybe_text("limit"),
            error=table.maybe_text("error"),
            origin=table.maybe_text("origin"),
            usage=Usage(table.whole("input_tokens", 0), table.whole("output_tokens", 0)),
            started=table.maybe_moment("started"),
            ended=table.maybe_moment("ended"),
            session=table.maybe_text("session"),
            final=policy == RUN_NONE_AGAIN,
        )
    except (ShapeError, ValueError) as error:
        return Unreadable(str(error))


def counted(attempts: Iterable[Attempt]) -> Attempt | None:
    """The attempt that counts: the first that ended by itself, or that was cut for good, else the last.

    None where there is none.
    """
    ordered = sorted(attempts, key=lambda attempt: attempt.number)
    deciding = [attempt for attempt in ordered if attempt.finished or attempt.final]
    return deciding[0] if deciding else (ordered[-1] if ordered else None)


def classify(intended: Iterable[str], attempts: Iterable[Attempt]) -> dict[str, str]:
    """The class of each intended episode: exactly one of CLASSES (invariant I4).

    Attempts at episodes that were never intended count nowhere.
    """
    by_key: defaultdict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        by_key[attempt.key].append(attempt)
    return {key: _class_of(counted(by_key[key])) for key in intended}


def tally(classes: Mapping[str, str]) -> dict[str, int]:
    """How many episodes are in each class; every class is named, the sum is the intended episodes."""
    found = list(classes.values())
    return {name: found.count(name) for name in CLASSES}


def _class_of(attempt: Attempt | None) -> str:
    if attempt is None or attempt.outcome is None:
        return NOT_RUN
    return attempt.outcome.value
