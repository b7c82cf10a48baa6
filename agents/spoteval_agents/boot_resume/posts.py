"""What the store is to be told about this boot, in order; posted beside everything else. Pure."""

from spoteval.clock import Now, elapsed_s
from spoteval.control.facts import BOOTED, run_fact
from spoteval_agents.boot_resume.rows_gate import EPOCH
from spoteval_agents.boot_resume.seen import Policy, Seen, State

FIRST_RETRY_S = 1.0
"""After the first failure, then twice as long each time up to the policy's: a life may be over in ten seconds."""


def due(state: State, seen: Seen, policy: Policy, now: Now) -> str | None:
    """The next thing to post: a fact's name or the epoch's claim; None where all is told or has just failed."""
    return next(
        (item for item in _open(state, seen) if not _paused(item, state, policy, now)), None
    )


def _open(state: State, seen: Seen) -> list[str]:
    if seen.disk is not None or not seen.numbered:
        return []
    run = seen.active
    items = [BOOTED]
    if run is not None:
        claim = [] if run.claimed or state.forked else [EPOCH]
        items = [*claim, *items, run_fact(run.record.name, run.record.generation)]
        stages = run.stages
        # A hold takes the servers' health back, but not that episodes began: this boot was healthy.
        items += ["healthy"] if stages.healthy or stages.first_episode else []
        items += ["first-episode"] if stages.first_episode else []
    return [item for item in items if item == EPOCH or item not in state.posted]


def _paused(item: str, state: State, policy: Policy, now: Now) -> bool:
    found = state.failed.get(item)
    if found is None:
        return False
    doublings = min(state.tries.get(item, 1) - 1, 10)
    wait_s = min(policy.retry_s, FIRST_RETRY_S * 2.0**doublings)
    return (elapsed_s(found[1], now) or 0.0) < wait_s
