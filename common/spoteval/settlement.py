"""Settlement: every episode that an interruption cut is settled exactly once, by the declared policy."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from spoteval.clock import stamp
from spoteval.episode import RUN_NONE_AGAIN, Attempt, Outcome, attempt_from
from spoteval.interruption import END, IDLE, OPERATOR, SERVER

_OUTCOMES = {
    **dict.fromkeys((OPERATOR, END, IDLE), Outcome.OPERATOR_STOPPED),
    SERVER: Outcome.HARNESS_ERROR,
}
MODEL_SERVER = "model_server"
_ORIGINS = {SERVER: MODEL_SERVER}
DISCLOSED: Mapping[str, str] = {
    "fresh_budget": "an interrupted episode is run again from scratch with the full budget",
    "remaining_budget": "an interrupted episode is run again with what it had left of its budget",
    RUN_NONE_AGAIN: "an interrupted episode is not run again: it stays in its class, and counts as not scored",
    "continued": "an interrupted episode goes on where it was cut",
}
"""What each settlement does, as it stands beside every result."""


@dataclass(frozen=True, slots=True)
class Settled:
    """One line of settlement.jsonl; of several lines about one attempt (its native id) the first counts."""

    interruption: str
    at: datetime
    policy: str
    attempt: Attempt

    def record(self) -> dict[str, object]:
        """The settlement as a JSON object."""
        return {
            "interruption": self.interruption,
            "at": stamp(self.at),
            "policy": self.policy,
            **self.attempt.record(),
        }


def cut_outcome(cause: str) -> Outcome:
    """The outcome of an attempt that a stop of this cause cut."""
    return _OUTCOMES.get(cause, Outcome.PREEMPTION_INTERRUPTED)


def settled_attempts(records: Iterable[Mapping[str, object]]) -> tuple[Attempt, ...]:
    """The attempts in the lines of settlement.jsonl; of several lines about one attempt the first counts."""
    first: dict[str, Attempt] = {}
    for record in records:
        attempt = attempt_from(record)
        if isinstance(attempt, Attempt):
            first.setdefault(attempt.native_id, replace(attempt, cut=True))
    return tuple(first.values())


def closed_keys(records: Iterable[Mapping[str, object]]) -> frozenset[str]:
    """Episodes that stay as they were cut, by the lines of settlement.jsonl: they are not to run again."""
    return frozenset(attempt.key for attempt in settled_attempts(records) if attempt.final)


def unsettled(
    cut: Iterable[Attempt], records: Iterable[Mapping[str, object]]
) -> tuple[Attempt, ...]:
    """The cut attempts that no line settles yet (by native id: a later interruption never settles them again)."""
    done = {str(record.get("native_id")) for record in records}
    return tuple(attempt for attempt in cut if attempt.native_id not in done)


def settle(
    cut: Iterable[Attempt],
    records: Iterable[Mapping[str, object]],
    interruption: str,
    cause: str,
    policy: str,
    at: datetime,
) -> tuple[Settled, ...]:
    """The lines to append for attempts that an interruption cut: pure, and nothing twice."""
    known = tuple(records)
    outcome, origin = cut_outcome(cause), _ORIGINS.get(cause)
    ended = (
        replace(attempt, outcome=outcome, origin=origin, cut=True)
        for attempt in unsettled(cut, known)
    )
    return tuple(Settled(interruption, at, policy, attempt) for attempt in ended)
