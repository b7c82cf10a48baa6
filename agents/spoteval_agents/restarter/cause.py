"""Why an instance stopped, by the best evidence; never by its price. Pure."""

from spoteval.provider.contract import Observation
from spoteval.shape import Unreadable
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import State

GUEST_ENDS = ("end-", "idle-")
"""Ids of holds that a guest places before it powers itself off begin so."""


def cause_of(state: State, seen: Seen, obs: Observation) -> tuple[str, str]:
    """Cause and evidence: our own stop, the guest's intent to end, the provider's reason, the guest's notice."""
    if state.stop_asks is not None:
        return "restarter", "own-stop"
    if (intent := _guest_intent(state)) is not None:
        return "guest", intent
    if obs.cause is not None:
        return obs.cause, obs.evidence if obs.evidence is not None else "provider-reason"
    if _noticed(seen):
        return "preempted", "guest-marker"
    return "unknown", "none"


def _guest_intent(state: State) -> str | None:
    ids = (item.hold.id for item in state.holds)
    if (hold := next((key for key in ids if key.startswith(GUEST_ENDS)), None)) is not None:
        return f"hold:{hold}"
    return None


def _noticed(seen: Seen) -> bool:
    """Whether the newest boot, which is the one that has just ended, put a notice fact."""
    if isinstance(seen.store, Unreadable):
        return False
    newest = seen.store.listing.newest_boot
    return newest is not None and seen.store.listing.boot_has(newest[1], "notice")
