"""Holds that the restarter places itself: their names, and what lifting them resets. Pure."""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from spoteval.clock import Now
from spoteval.decision import Decision
from spoteval.hold import Hold
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.rules import FIXED
from spoteval_agents.restarter.state import State

BY = "restarter"
RULE = "rule"
_PLAIN = frozenset(["gone", "unrestartable", "stopped-on-purpose"])
"""Their holds ask for no stop: there is nothing to stop, or a person may start it again on purpose."""

Reset = Callable[[State, Now], State]


def hold_for(decision: Decision, policy: Policy, now: Now) -> Hold:
    """The hold that a decision with `action=hold` asks for."""
    return Hold(
        id=_id(decision, policy, now),
        instance=policy.instance,
        reason=decision.why if decision.why is not None else decision.word,
        by=BY,
        at=now.wall,
        ensure_stopped=decision.word not in _PLAIN,
    )


def stop_hold_id(state: State) -> str | None:
    """The name of the hold on the stop that is seen now: one stop, one hold, also after a loss of memory."""
    since = state.since.wall if state.since is not None else None
    moment = state.last_start if state.last_start is not None else since
    return f"stop-{moment:%Y%m%dT%H%M%S}" if moment is not None else None


def reset(hold_id: str, state: State, now: Now) -> State:
    """The state once this hold was lifted: what tripped it begins anew. Holds of others reset nothing."""
    for prefix, begin_anew in _RESETS.items():
        if hold_id.startswith(f"{prefix}-"):
            return begin_anew(state, now)
    return state


def _id(decision: Decision, policy: Policy, now: Now) -> str:
    """As `hold` says it, else kind, second, and a mark that keeps two restarters apart."""
    if (name := decision.pairs.get("hold")) is not None:
        return str(name)
    kind = decision.word if decision.word != "stop-rule" else f"{RULE}-{decision.pairs['rule']}"
    mark = zlib.crc32(f"{policy.identity} {now.boot} {now.mono_s}".encode()) & 0xFFFF
    return f"{kind}-{now.wall:%Y%m%dT%H%M%S}-{mark:04x}"


def _counts(state: State, now: Now, **changes: int) -> State:  # noqa: ARG001 - one signature for all
    return replace(state, counts=replace(state.counts, **changes))


def _failed_starts(state: State, now: Now) -> State:  # noqa: ARG001
    return replace(state, failures=0, failing_since=None, failed_at=None, refusal=None)


def _spend(state: State, now: Now) -> State:  # noqa: ARG001
    return replace(state, counts=replace(state.counts, spent_from=state.spent))


def _starts(state: State, now: Now) -> State:  # noqa: ARG001
    return replace(state, counts=replace(state.counts, starts_from=state.starts))


def _waived(state: State, now: Now, rule: str) -> State:  # noqa: ARG001
    return replace(state, waived=tuple(sorted({*state.waived, rule})))


def _over(state: State, now: Now) -> State:
    return replace(state, over_since=now.mark if state.over_since is not None else None)


def _gone(state: State, now: Now) -> State:  # noqa: ARG001
    return replace(state, absent=None)


def _silent(state: State, now: Now) -> State:  # noqa: ARG001
    return replace(state, silent=None)


_RESETS: Mapping[str, Reset] = {
    f"{RULE}-failed_starts": _failed_starts,
    f"{RULE}-preemptions_before_healthy": partial(_counts, unhealthy=0),
    f"{RULE}-preemptions_before_episodes": partial(_counts, interrupted=0),
    f"{RULE}-no_facts": partial(_counts, faceless=0),
    f"{RULE}-spend": _spend,
    f"{RULE}-starts": _starts,
    **{f"{RULE}-{rule}": partial(_waived, rule=rule) for rule in sorted(FIXED)},
    "loop-guard": partial(_counts, short_runs=0),
    "gone": _gone,
    "unrestartable": partial(_counts, unrestartable=0),
    "over-running": _over,
    "silent": _silent,
}
