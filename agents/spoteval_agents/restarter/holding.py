"""The half of `observe` that remembers holds and the assignment. Pure."""

from dataclasses import replace

from spoteval.clock import Now
from spoteval.event import Event
from spoteval.hold import Hold, unread_hold
from spoteval.provider.contract import State as ProviderState
from spoteval.publication.keys import safe
from spoteval.shape import Unreadable
from spoteval_agents.restarter.policy import REPORT_UNHEARD_POLLS, Policy
from spoteval_agents.restarter.seen import Seen, StoreSight
from spoteval_agents.restarter.state import FileHold, KnownHold, State
from spoteval_agents.restarter.telling import Step, report, told


def see_file_hold(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """The touch file: there, gone, or unreadable; then what was known stands."""
    text, known = seen.file_hold, state.file_hold
    if isinstance(text, Unreadable):
        return state, ()
    if text is None and known is not None:
        gone = told("hold-gone", policy, now, reason=known.reason, detail={"id": "operator"})
        return replace(state, file_hold=None), (gone,)
    if text is not None and known is None:
        seen_now = told("hold-seen", policy, now, reason=text, detail={"id": "operator"})
        return replace(state, file_hold=FileHold(now.mark, text)), (seen_now,)
    if text is not None and known is not None and text != known.reason:
        return replace(state, file_hold=replace(known, reason=text)), ()
    return state, ()


def see_store_holds(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """Holds of the store: once seen, remembered; gone only by a release that was seen."""
    sight = seen.store
    if isinstance(sight, Unreadable):
        return state, ()
    known = {item.hold.id: item for item in state.holds}
    kept = {key: item for key, item in known.items() if key not in sight.listing.releases}
    for hold in _standing(sight, known, policy.instance):
        kept[hold.id] = replace(kept.get(hold.id, KnownHold(hold, now.mark)), hold=hold)
    news = [_placed(item, policy, now) for key, item in kept.items() if key not in known]
    news += [_lifted(item, policy, now) for key, item in known.items() if key not in kept]
    return replace(state, holds=tuple(kept[key] for key in sorted(kept))), tuple(news)


def see_mirror(state: State, seen: Seen, policy: Policy, now: Now) -> Step:  # noqa: ARG001
    """Which holds have had their file in the holds directory: from then on, its absence is a person's doing."""
    names = seen.mirror
    if names is None or isinstance(names, Unreadable):
        return state, ()
    holds = (
        replace(item, mirrored=item.mirrored or safe(item.hold.id) in names) for item in state.holds
    )
    return replace(state, holds=tuple(holds)), ()


def see_run(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """The assignment, as the store says it; without the store, as it was last said."""
    if isinstance(seen.store, Unreadable) or seen.store.run == state.run:
        return state, ()
    run = seen.store.run
    detail = {"run": run.run, "generation": run.generation, "over": run.over} if run else {}
    event = told("run-assigned", policy, now, detail=detail)
    return replace(state, run=run), (event,)


def see_unheard(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """Count looks that kept a stopped instance from starting because holds could not be read."""
    error, obs = seen.holds_error, seen.understood
    if error is None:
        return replace(state, unheard=0), ()
    if state.held or obs is None or obs.state is not ProviderState.STOPPED:
        return state, ()
    unheard = state.unheard + 1
    news = (report(policy, now, f"no start: holds cannot be read: {error}"),)
    return replace(state, unheard=unheard), news if unheard == REPORT_UNHEARD_POLLS else ()


def _standing(sight: StoreSight, known: dict[str, KnownHold], instance: str) -> tuple[Hold, ...]:
    """Standing holds that are new or whose body has now been read. A listed hold without a body is a hold."""
    bodies = {hold.id: hold for hold in sight.bodies}
    new = (key for key in sight.listing.standing if key in bodies or key not in known)
    return tuple(bodies.get(key) or unread_hold(key, instance, "no body") for key in new)


def _placed(item: KnownHold, policy: Policy, now: Now) -> Event:
    return told("hold-seen", policy, now, reason=item.hold.reason, detail=item.hold.record())


def _lifted(item: KnownHold, policy: Policy, now: Now) -> Event:
    return told("hold-gone", policy, now, reason=item.hold.reason, detail={"id": item.hold.id})
