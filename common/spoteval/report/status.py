"""Where a run stands, as values: everything may be unknown, and says so."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from spoteval.clock import stamp
from spoteval.control.runfiles import Progress
from spoteval.episode import Outcome, classify, tally
from spoteval.placement.spend import Spend
from spoteval.placement.stages import Restart, medians
from spoteval.report.eta import Eta
from spoteval.report.holds import HoldsSeen
from spoteval.report.needs import Need
from spoteval.report.rules import Rules
from spoteval.report.timeline import Piece
from spoteval.run import RunRecord
from spoteval.shape import Reading, Unreadable

STALE_GUEST_S = 660.0
"""Two heartbeats are five minutes apart at most; a second one and a pass may be late."""
STALE_RESTARTER_S = 3900.0
"""Its files change with the world, its decision log at least once an hour."""


@dataclass(frozen=True, slots=True)
class Source:
    """One host's facts: seen from here or not, and how old."""

    age_s: float | None = None
    here: bool = False
    stale_s: float = 0.0

    @property
    def stale(self) -> bool:
        """Whether they are too old to be the present."""
        return self.age_s is not None and not self.here and self.age_s > self.stale_s


@dataclass(frozen=True, slots=True)
class Status:
    """One instance and its run. None and empty mean that nothing here knows."""

    at: datetime
    instance: str
    guest: Source
    restarter: Source
    holds: HoldsSeen
    run: RunRecord | None = None
    over: bool = False
    state: str | None = None
    state_s: float | None = None
    progress: Progress | None = None
    in_flight: int | None = None
    eta: Reading[Eta] | None = None
    published: int | None = None
    withheld: int | None = None
    passed_s: float | None = None
    """Seconds since the follower's last pass that left a trace."""
    preemptions: int | None = None
    capacity_failures: int | None = None
    pieces: tuple[Piece, ...] = ()
    restarts: tuple[Restart, ...] = ()
    spend: Spend | None = None
    rules: Rules | None = None
    """None where the restarter is not seen from here."""
    waiting: str | None = None
    needs: tuple[Need, ...] = field(default=())

    @property
    def finished(self) -> int | None:
        """Finished episodes."""
        return len(self.progress.finished_keys) if self.progress else None

    @property
    def closed(self) -> int:
        """Episodes that were cut, are not run again, and did not end."""
        known = self.progress
        return len(known.closed_keys - known.finished_keys) if known else 0

    @property
    def intended(self) -> int | None:
        """Intended episodes; None before the first start froze them."""
        frozen = self.progress.intended if self.progress else None
        return len(frozen) if frozen is not None else None

    @property
    def classes(self) -> Mapping[str, int]:
        """Episodes by class; empty while nobody knows what was intended."""
        if self.progress is None or self.progress.intended is None:
            return {}
        known = self.progress
        return tally(classify(known.intended or (), (*known.finished, *known.cut)))

    @property
    def second_line(self) -> str:
        """The one line that a person reads first."""
        if self.needs:
            return f"needs you: {self.needs[0].text} → {self.needs[0].command}"
        if self.waiting and not self.over:
            return f"waiting: {self.waiting}"
        if self.state == "RUNNING" and (self.run is None or self.over):
            why = "it has no run" if self.run is None else "its run is over"
            return f"waiting: RUNNING and billed, and {why} (spoteval stop {self.instance})"
        return "ok, nothing needs you"

    def record(self) -> dict[str, object]:
        """The same keys as the screen, as JSON."""
        return {
            "run": self.run.name if self.run else None,
            "label": self.run.plan.label if self.run else None,
            "instance": self.instance,
            "state": self.state,
            "state_s": _rounded(self.state_s),
            "over": self.over,
            "at": stamp(self.at),
            "second_line": self.second_line,
            "needs_you": [need.record() for need in self.needs],
            "facts": {"guest": _source(self.guest), "restarter": _source(self.restarter)},
            "episodes": {
                "finished": self.finished,
                "in_flight": self.in_flight,
                "intended": self.intended,
            },
            "done": self._done(),
            "classes": dict(self.classes),
            "attempts": self._attempts(),
            "night": [_piece(piece) for piece in self.pieces],
            "restarts": self._restarts(),
            "published": {
                "episodes": self.published,
                "last_pass_s": _rounded(self.passed_s),
                "withheld": self.withheld,
            },
            "spent": _spend(self.spend),
            "holds": self.holds.record(),
            "rules": self.rules.record(self.spend) if self.rules is not None else None,
            "assigned": _assigned(self.rules),
        }

    def _done(self) -> dict[str, object]:
        deadline = self.run.plan.deadline if self.run else None
        unknown = self.eta.why if isinstance(self.eta, Unreadable) else None
        return {
            **(self.eta.record() if isinstance(self.eta, Eta) else {}),
            "unknown": unknown,
            "deadline": stamp(deadline) if deadline is not None else None,
        }

    def _attempts(self) -> dict[str, object]:
        cut = len(self.progress.cut) if self.progress else None
        ended = len(self.progress.finished) if self.progress else None
        return {"ended": ended, "cut": cut, "preemptions": self.preemptions}

    def _restarts(self) -> dict[str, object]:
        done = [restart for restart in self.restarts if restart.done]
        return {
            "count": len(done),
            "median_s": {stage: round(value, 3) for stage, value in medians(done).items()},
            "capacity_failures": self.capacity_failures,
        }


INTERRUPTED = Outcome.PREEMPTION_INTERRUPTED.value


def _assigned(rules: Rules | None) -> dict[str, object] | None:
    if rules is None or rules.run is None:
        return None
    return {"run": rules.run, "generation": rules.generation}


def _piece(piece: Piece) -> dict[str, object]:
    return {"cell": piece.cell, "from": stamp(piece.began), "to": stamp(piece.ended)}


def _source(source: Source) -> dict[str, object]:
    return {"age_s": _rounded(source.age_s), "here": source.here, "stale": source.stale}


def _spend(spend: Spend | None) -> dict[str, object] | None:
    if spend is None:
        return None
    return {
        "low": round(spend.low, 4),
        "high": round(spend.high, 4),
        "currency": spend.currency,
        "starts": spend.starts,
        "now_per_hour": spend.now,
    }


def _rounded(seconds: float | None) -> float | None:
    return round(seconds, 1) if seconds is not None else None
