"""How far each stop rule is: what the restarter remembers, held against the grant and the run's own rules. Pure."""

from dataclasses import dataclass

from spoteval.clock import Now, elapsed_s
from spoteval.config.grant import Grant
from spoteval.placement.spend import Spend
from spoteval.shape import Reading, ShapeError, Table, Unreadable


@dataclass(frozen=True, slots=True)
class Counted:
    """What the restarter counted towards the rules: seconds of failed starts, preemptions, episodes, starts."""

    failing_s: float = 0.0
    unhealthy: int = 0
    interrupted: int = 0
    finished: int = 0
    starts: int = 0


@dataclass(frozen=True, slots=True)
class Rules:
    """The limits in force for a run, and how far it is. Counted by the restarter alone: on its host."""

    limits: Grant
    counted: Reading[Counted]
    run: str | None = None
    generation: int | None = None

    def words(self, spend: Spend | None) -> list[str]:
        """The rules that are in force, each with how far it is; a count that nobody knows is not guessed."""
        if isinstance(self.counted, Unreadable):
            return [f"not known: {self.counted.why}"]
        limits, seen = self.limits, self.counted
        words = [
            _of("failed starts", seen.failing_s / 60, limits.failed_starts_s, 60.0, " min"),
            _of("before healthy", seen.unhealthy, limits.preemptions_before_healthy),
        ]
        pair = limits.preemptions_before_episodes
        if pair is not None and seen.interrupted and seen.finished < pair[1]:
            words.append(f"before {pair[1]} episodes {seen.interrupted} of {pair[0]}")
        return [*words, self._spent(spend)]

    def grant(self) -> list[str]:
        """The outer limits besides the rules."""
        limits = self.limits
        started = self.counted.starts if isinstance(self.counted, Counted) else "?"
        of = "" if limits.starts is None else f" of {limits.starts}"
        return [_cap(limits), f"starts {started}{of}", *_until(limits)]

    def record(self, spend: Spend | None) -> dict[str, object]:
        """As JSON."""
        limits = self.limits
        seen = self.counted if isinstance(self.counted, Counted) else None
        pair = limits.preemptions_before_episodes
        return {
            "unknown": self.counted.why if isinstance(self.counted, Unreadable) else None,
            "failed_starts_s": _pair(seen and round(seen.failing_s, 1), limits.failed_starts_s),
            "preemptions_before_healthy": _pair(
                seen and seen.unhealthy, limits.preemptions_before_healthy
            ),
            "preemptions_before_episodes": _pair(
                seen and [seen.interrupted, seen.finished], None if pair is None else list(pair)
            ),
            "spend": _pair(
                None if spend is None else round(spend.high, 4),
                None if limits.spend is None else limits.spend.amount,
            ),
            "starts": _pair(seen and seen.starts, limits.starts),
            "price_cap": None if limits.price_cap is None else limits.price_cap.record(),
        }

    def _spent(self, spend: Spend | None) -> str:
        limit = self.limits.spend
        if limit is None:
            return "spend no limit"
        if spend is None:
            return "spend 0 %"
        if spend.currency != limit.currency:
            return f"spend limit is in {limit.currency}"
        return f"spend {100 * spend.high / limit.amount:.0f} %" if limit.amount else "spend all"


def limits_line(limits: Grant) -> str:
    """The limits alone, in one line."""
    pair, spend = limits.preemptions_before_episodes, limits.spend
    words = [
        _cap(limits),
        "no spend limit" if spend is None else f"spend {spend.amount:g} {spend.currency}",
        *([] if limits.starts is None else [f"starts {limits.starts}"]),
        _limit("failed starts", limits.failed_starts_s, 60.0, " min"),
        _limit("preemptions before healthy", limits.preemptions_before_healthy),
        *([] if pair is None else [f"before {pair[1]} episodes {pair[0]}"]),
        *_until(limits),
    ]
    return " · ".join(words)


def _cap(limits: Grant) -> str:
    cap = limits.price_cap
    return "no price cap" if cap is None else f"cap {cap.amount:.2f} {cap.currency}/h"


def _until(limits: Grant) -> list[str]:
    return [] if limits.until is None else [f"until {limits.until:%a %d %b %H:%M}"]


def _limit(name: str, limit: float | None, size: float = 1.0, unit: str = "") -> str:
    return f"{name} off" if limit is None else f"{name} {limit / size:.0f}{unit}"


def counted(state: Table | Unreadable | None, now: Now) -> Reading[Counted]:
    """What the restarter's memory says of the rules."""
    if state is None:
        return Unreadable("the restarter has not looked yet")
    if isinstance(state, Unreadable):
        return state
    try:
        counts = state.table("counts", {})
        since = state.maybe_mark("failing_since")
        return Counted(
            failing_s=(elapsed_s(since, now) or 0.0) if since is not None else 0.0,
            unhealthy=counts.whole("unhealthy", 0),
            interrupted=counts.whole("interrupted", 0),
            finished=counts.whole("finished", 0),
            starts=max(0, state.whole("starts", 0) - counts.whole("starts_from", 0)),
        )
    except ShapeError as error:
        return Unreadable(str(error))


def _of(name: str, seen: float, limit: float | None, size: float = 1.0, unit: str = "") -> str:
    return f"{name} off" if limit is None else f"{name} {seen:.0f} of {limit / size:.0f}{unit}"


def _pair(seen: object, limit: object) -> dict[str, object]:
    return {"seen": seen, "limit": limit}
