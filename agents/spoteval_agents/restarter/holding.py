"""The half of `observe` that remembers holds and the assignment. Pure."""

from dataclasses import replace

from spoteval.clock import Now
from spoteval.event import Event
from spoteval.hold import Hold, unread_hold
from spoteval.provider.contract import State as ProviderState
from spoteval.publication.keys import safe
from spoteval.shape import Unreadable
from spoteval_agents.restarter.case import FILE_HOLD, Case
from spoteval_agents.restarter.placing import reset
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.rules import still_waived
from spoteval_agents.restarter.seen import Seen, StoreSight
from spoteval_agents.restarter.state import Assignment, FileHold, KnownHold, State
from spoteval_agents.restarter.telling import Step, settled, told


def see_file_hold(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """The touch file: there, gone, or unreadable; then what was known stands."""
    text, known = seen.file_hold, state.file_hold
    if isinstance(text, Unreadable):
        return state, ()
    if text is None:
        return _file_gone(state, policy, now)
    if known is None:
        seen_now = told("hold-seen", policy, now, reason=text, detail={"id": FILE_HOLD})
        return replace(state, file_hold=FileHold(now.mark, text)), (seen_now,)
    if text != known.reason:
        return replace(state, file_hold=replace(known, reason=text)), ()
    return state, ()


def see_store_holds(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """Holds of the store: once seen, remembered; gone only by a release that was seen."""
    sight = seen.store
    if isinstance(sight, Unreadable):
        return state, ()
    if not state.holds and not sight.listing.standing:
        return state, ()
    known = {item.hold.id: item for item in state.holds}
    released = sight.listing.releases
    kept = {key: item for key, item in known.items() if item.local or key not in released}
    for hold in _standing(sight, known, policy.instance):
        kept[hold.id] = replace(kept.get(hold.id, KnownHold(hold, now.mark)), hold=hold)
    news = [_placed(item, policy, now) for key, item in kept.items() if key not in known]
    after = replace(state, holds=tuple(kept[key] for key in sorted(kept)))
    for item in (item for key, item in known.items() if key not in kept):
        after, more = _lifted(after, item, policy, now)
        news += more
    return after, tuple(news)


def see_mirror(state: State, seen: Seen, policy: Policy, now: Now) -> Step:  # noqa: ARG001
    """Which holds have had their file in the holds directory: from then on, its absence is a person's doing."""
    names = seen.mirror
    if names is None or isinstance(names, Unreadable):
        return state, ()
    new = [item for item in state.holds if not item.mirrored and safe(item.hold.id) in names]
    if not new:
        return state, ()
    holds = (replace(item, mirrored=True) if item in new else item for item in state.holds)
    return replace(state, holds=tuple(holds)), ()


def see_run(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """The assignment, as the store says it; without the store, as it was last said. Another run begins at zero."""
    if isinstance(seen.store, Unreadable) or policy.local or seen.store.run == state.run:
        return state, ()
    run = seen.store.run
    detail = {"run": run.run, "generation": run.generation, "over": run.over} if run else {}
    if run is not None and run.obeys is not None:
        detail["rules_of"] = run.obeys
    return assigned(state, run), (told("run-assigned", policy, now, detail=detail),)


def assigned(state: State, run: Assignment | None) -> State:
    """The state with this assignment. What counts by the run begins anew with another one."""
    before = state.run
    if run is None or before is None or run.run == before.run:
        stands = run is not None and before is not None and run.deadline == before.deadline
        return replace(state, run=run, over_since=state.over_since if stands else None)
    counts = replace(
        state.counts,
        unhealthy=0,
        interrupted=0,
        finished=0,
        starts_from=state.starts,
        spent_from=state.spent,
    )
    return replace(state, run=run, counts=counts, over_since=None)


def see_wanted(state: State, seen: Seen, policy: Policy, now: Now) -> Step:  # noqa: ARG001
    """Without a hold that wants it off, no stop is undone."""
    if state.counts.undone == 0 or any(item.hold.ensure_stopped for item in state.holds):
        return state, ()
    return replace(state, counts=replace(state.counts, undone=0)), ()


def see_waived(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """A rule that was waived and is mended is judged anew."""
    waived = still_waived(Case(state, seen, policy, now))
    return (state if waived == state.waived else replace(state, waived=waived)), ()


def see_unheard(state: State, seen: Seen, policy: Policy, now: Now) -> Step:  # noqa: ARG001
    """Count looks that kept a stopped instance from starting because holds could not be read."""
    error, obs = seen.holds_error, seen.understood
    if error is None:
        return (replace(state, unheard=0) if state.unheard else state), ()
    if state.held or obs is None or obs.state is not ProviderState.STOPPED:
        return state, ()
    return replace(state, unheard=state.unheard + 1), ()


def _standing(sight: StoreSight, known: dict[str, KnownHold], instance: str) -> tuple[Hold, ...]:
    """Standing holds that are new or whose body has now been read. A listed hold without a body is a hold."""
    bodies = {hold.id: hold for hold in sight.bodies}
    new = (key for key in sight.listing.standing if key in bodies or key not in known)
    return tuple(bodies.get(key) or unread_hold(key, instance, "no body") for key in new)


def _placed(item: KnownHold, policy: Policy, now: Now) -> Event:
    return told("hold-seen", policy, now, reason=item.hold.reason, detail=item.hold.record())


def _lifted(state: State, item: KnownHold, policy: Policy, now: Now) -> Step:
    """A person lifted it. What tripped it begins anew, where it was one of the restarter's own."""
    hold = item.hold
    event = told("hold-gone", policy, now, reason=hold.reason, detail={"id": hold.id})
    after, news = settled(reset(hold.id, state, now), hold.id, "its hold was lifted", policy, now)
    return after, (event, *news)


def _file_gone(state: State, policy: Policy, now: Now) -> Step:
    """There is no touch file: what a person held by it is lifted, and what the restarter held by it."""
    news: list[Event] = []
    if (known := state.file_hold) is not None:
        news.append(told("hold-gone", policy, now, reason=known.reason, detail={"id": FILE_HOLD}))
    lifted = [item for item in state.holds if item.local and item.placed]
    after = replace(state, file_hold=None)
    if lifted:
        after = replace(after, holds=tuple(item for item in state.holds if item not in lifted))
    for item in lifted:
        after, more = _lifted(after, item, policy, now)
        news += more
    return after, tuple(news)
