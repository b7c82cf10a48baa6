"""Why an instance stopped, by the best evidence; never by its price. Pure."""

from spoteval.clock import Mark
from spoteval.control.facts import DRILL_STOP
from spoteval.provider.contract import Observation
from spoteval.shape import Unreadable
from spoteval_agents.restarter.moments import is_later
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import State

GUEST_ENDS = ("end-", "idle-")
"""Ids of holds that a guest places before it powers itself off begin so."""
OWN_STOP = "own-stop"
DRILL = "drill"
"""What says that a stop was rehearsed: it counts as a preemption, and no figure about the weather counts it."""
ON_PURPOSE = frozenset(["user", "guest"])
"""A provider's words for a stop that somebody wanted."""


def cause_of(state: State, seen: Seen, obs: Observation | None, last_boot: int) -> tuple[str, str]:
    """Cause and evidence: our own stop, the guest's intent to end, the provider's reason, the guest's notice.

    A drill has somebody switch it off: that goes before the provider's word of a person or the guest, and not before
    its word that it took the instance itself. `obs` None: the stop itself was not seen, so that the provider's reason
    is that of another. `last_boot`: the boot that ended with it.
    """
    if state.stop_asks is not None or _never_started_since(state, obs):
        return "restarter", OWN_STOP
    if (intent := _guest_intent(state)) is not None:
        return "guest", intent
    taken = obs is not None and obs.cause is not None and obs.cause not in ON_PURPOSE
    if not taken and (state.drill is not None or _put(DRILL_STOP, state, seen, last_boot)):
        return "preempted", DRILL
    if obs is not None and obs.cause is not None:
        return obs.cause, reason_of(obs)
    if _put("notice", state, seen, last_boot):
        return "preempted", "guest-marker"
    return "unknown", "none"


def rehearsed(state: State) -> bool:
    """Whether it is off, or was last, because of a drill."""
    return state.stop is not None and state.stop.evidence == DRILL


def reason_of(obs: Observation) -> str:
    """What the provider's reason is called in lines."""
    return obs.evidence if obs.evidence is not None else "provider-reason"


def _never_started_since(state: State, obs: Observation | None) -> bool:
    """Whether the last stop was ours and nothing has started it since: an old page has shown it running again."""
    stop = state.stop
    if stop is None or stop.cause != "restarter" or obs is None:
        return False
    known, said = stop.last_start, obs.last_start
    return known is not None and said is not None and not is_later(said, known)


def _guest_intent(state: State) -> str | None:
    """A hold of this life: one that stood before it says nothing about how it ended."""
    since = state.life.since if state.life is not None else None
    found = (
        item.hold.id
        for item in state.holds
        if item.hold.id.startswith(GUEST_ENDS) and not _before(item.since, since)
    )
    hold_id = next(found, None)
    return f"hold:{hold_id}" if hold_id is not None else None


def _before(mark: Mark, since: Mark | None) -> bool:
    return since is not None and mark.boot == since.boot and mark.mono_s < since.mono_s


def _put(fact: str, state: State, seen: Seen, last_boot: int) -> bool:
    """Whether the boot that has just ended put this fact."""
    if isinstance(seen.store, Unreadable) or state.life is None:
        return False
    is_its_own = last_boot > state.life.boot_seq
    return is_its_own and fact in seen.store.facts_of(last_boot)
