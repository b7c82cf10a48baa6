"""What a notice or a signal means: an interruption, a repeat, a restart of our own, or nothing after all."""

from dataclasses import dataclass

from spoteval.clock import Mark, Now, elapsed_s, left_s
from spoteval.control.enders import Ender
from spoteval.control.requests import Answer
from spoteval.decision import Decision
from spoteval.interruption import END, IDLE, OPERATOR, PREEMPTED, UNKNOWN
from spoteval.line import Value
from spoteval.notice.contract import Notice
from spoteval.shape import Reading, Unreadable

AGENT = "shutdown-hook"
EXPIRED_AFTER_S = 300.0
"""A machine that is still up so long after the deadline of its notice was not taken."""

NOTICE, SHUTDOWN = "notice", "shutdown"
_CAUSES = {"idle-guard": IDLE, "end-handler": END, "operator": OPERATOR}


@dataclass(frozen=True, slots=True)
class Current:
    """The interruption of this session: `done` = all that could be done for it was done."""

    at: Mark
    window_s: float
    notice: str | None = None
    id: str | None = None
    done: bool = True


@dataclass(frozen=True, slots=True)
class State:
    """`spent` are ids of notices that came to nothing: they announce nothing any more."""

    current: Current | None = None
    spent: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read now. `run` is the active run of a proved disk."""

    notice: Reading[Notice | None]
    terminated: bool
    run: Reading[str | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done about one interruption; None where it was not come to."""

    source: str
    window_s: float
    marker: str | None
    marker_ms: float | None
    total_s: float
    stop_s: float | None = None
    killed: int | None = None
    salvaged: int | None = None
    final: Answer | None = None
    cause: str = UNKNOWN


def decide(seen: Seen, state: State, expired_after_s: float, now: Now) -> Decision:
    """The first row that fits. `interrupt` names its source; the caller marks first and asks after."""
    current, notice = state.current, seen.notice
    is_new = isinstance(notice, Notice) and notice.id not in state.spent
    if seen.terminated and current is not None and current.done:
        return _about(current, "leave", "the interruption is dealt with; nothing twice")
    if is_new and (current is None or not current.done):
        return _said("interrupt", {"source": NOTICE}, None)
    if seen.terminated:
        return _said("interrupt", {"source": SHUTDOWN}, None)
    if current is not None and notice is None:
        return _about(current, "notice-expired", "the notice was withdrawn; the run may go on")
    if current is not None and _expired(current, expired_after_s, now):
        why = f"still up {expired_after_s:g} s after the deadline; the run may go on"
        return _about(current, "notice-expired", why)
    if current is not None:
        return _about(current, "interrupted", "all is done; waiting for the machine's end")
    return _said("watch", _watched(seen), _trouble(seen))


def announced_s(notice: Notice, configured_s: float, now: Now) -> float:
    """Seconds until the notice's deadline; the configured window where it has none or the clock is not believed."""
    left = left_s(notice.deadline, now) if notice.deadline is not None else None
    return configured_s if left is None else left


def is_shutdown(stopping: Reading[bool], restarting: bool) -> bool:
    """Whether the machine ends, as opposed to our unit alone. A question that failed means yes, unless our own
    maintainer scripts say that they are at work."""
    return not restarting if isinstance(stopping, Unreadable) else stopping


def cause(announced: bool, ender: Ender | None, rebooting: Reading[bool] = False) -> str:
    """Why the machine ends: the provider's notice, else who on this machine wrote that it would stop it, else whoever
    reboots it: a provider that takes a machine switches it off."""
    if announced:
        return PREEMPTED
    if ender is not None:
        return _CAUSES.get(ender.agent, UNKNOWN)
    return OPERATOR if rebooting is True else UNKNOWN


def line(done: Outcome, why: str | None = None) -> Decision:
    """The line of one interruption, written when all is done."""
    final = done.final
    whole = None if final is None else final.published + final.left
    pairs: dict[str, Value] = {
        "source": done.source,
        "window_s": round(done.window_s, 1),
        "marker_ms": None if done.marker_ms is None else round(done.marker_ms),
        "stop_s": None if done.stop_s is None else round(done.stop_s, 1),
        "killed": done.killed,
        "salvaged": done.salvaged,
        "final_pass": None if final is None else f"{final.published} of {whole}",
        "left": None if final is None else final.left,
        "total_s": round(done.total_s, 1),
        "marker": done.marker or "none",
    }
    return Decision("interrupt", pairs, why, AGENT)


def not_an_interruption(marker: str | None, stopping: Reading[bool]) -> Decision:
    """The line of a stop of our unit alone."""
    unread = stopping.why if isinstance(stopping, Unreadable) else None
    pairs: dict[str, Value] = {"source": SHUTDOWN, "marker": marker or "none", "unread": unread}
    why = "our unit was stopped, the machine goes on; nothing was touched"
    return Decision("not-an-interruption", pairs, why, AGENT)


def _expired(current: Current, expired_after_s: float, now: Now) -> bool:
    passed_s = elapsed_s(current.at, now)
    return passed_s is not None and passed_s >= current.window_s + expired_after_s


def _watched(seen: Seen) -> dict[str, Value]:
    spent = isinstance(seen.notice, Notice)
    return {
        "run": "unreadable" if isinstance(seen.run, Unreadable) else seen.run or "none",
        "notice": "spent" if spent else "none" if seen.notice is None else "unreadable",
    }


def _trouble(seen: Seen) -> str | None:
    whys = [item.why for item in (seen.run, seen.notice) if isinstance(item, Unreadable)]
    return "; ".join(whys) or None


def _about(current: Current, word: str, why: str) -> Decision:
    pairs: dict[str, Value] = {"notice": current.notice, "marker": current.id or "none"}
    return Decision(word, pairs, why, AGENT)


def _said(word: str, pairs: dict[str, Value], why: str | None) -> Decision:
    return Decision(word, pairs, why, AGENT)
