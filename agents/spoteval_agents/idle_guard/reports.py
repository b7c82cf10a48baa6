"""What a person must hear of idle-guard. Pure."""

from typing import NamedTuple

from spoteval.clock import Now, elapsed_s
from spoteval_agents.idle_guard.seen import Policy, Seen, State
from spoteval_agents.idle_guard.uses import Use, found

BLIND_S = 3600.0
"""So long the machine may stay on for nothing but probes that cannot be read; then a person is called."""


class Report(NamedTuple):
    """`name` is the same while it is the same report: it is told once."""

    name: str
    text: str


def reports(state: State, seen: Seen, policy: Policy, now: Now) -> tuple[Report, ...]:
    """What a person must hear now."""
    said = (_blind(state, seen, policy, now), _forgotten(seen, policy))
    return tuple(report for report in said if report is not None)


def is_blind(uses: tuple[Use, ...]) -> bool:
    """Whether nothing but probes that cannot be read keeps the machine on."""
    return bool(uses) and all(use.blind for use in uses)


def _blind(state: State, seen: Seen, policy: Policy, now: Now) -> Report | None:
    blind_s = elapsed_s(state.blind_since, now) if state.blind_since is not None else None
    if blind_s is None or blind_s < BLIND_S:
        return None
    texts = "; ".join(use.text for use in found(seen, policy))
    text = f"on for {blind_s / 60:.0f} min only because nobody can tell whether it is used: {texts}"
    return Report("blind", text)


def _forgotten(seen: Seen, policy: Policy) -> Report | None:
    keep = seen.keep
    if keep is None or keep.age_s is None or keep.age_s < policy.keep_alive_warn_s:
        return None
    named = f' ("{keep.text}")' if keep.text else ""
    text = f"keep-alive{named} is {keep.age_s / 3600:.0f} h old and keeps the machine on"
    return Report(f"keep-alive {keep.text}", f"{text}: touch it again or remove it")
