"""The part of `observe` that measures stretches: silence, absence, outage, a run that is over, ownership. Pure."""

from dataclasses import replace

from spoteval.clock import Now
from spoteval.control.owner import owner_among
from spoteval.event import REHEARSAL
from spoteval.provider.contract import State as ProviderState
from spoteval.provider.contract import error_kind
from spoteval.shape import Unreadable
from spoteval_agents.restarter.moments import latest
from spoteval_agents.restarter.policy import OWNER_POLLS, SILENT_S, Policy, own_identity, since_s
from spoteval_agents.restarter.rows_wait import over_by
from spoteval_agents.restarter.seen import OFF, Seen
from spoteval_agents.restarter.state import (
    Absent,
    Ask,
    Away,
    Drill,
    Keep,
    Ownership,
    State,
    Unknown,
)
from spoteval_agents.restarter.telling import Step, told


def see_unknown(state: State, seen: Seen, policy: Policy, now: Now) -> Step:  # noqa: ARG001
    """A stretch without an answer is measured; nothing else moves while it lasts."""
    if seen.understood is not None:
        return (replace(state, unknown=None) if state.unknown is not None else state), ()
    error = seen.provider.why if isinstance(seen.provider, Unreadable) else seen.word
    kind = error_kind(seen.provider) if isinstance(seen.provider, Unreadable) else "unknown"
    before = state.unknown
    if before is None:
        return replace(state, unknown=Unknown(now.mark, error, kind=kind)), ()
    after = replace(before, error=error, repeats=before.repeats + 1, kind=kind)
    return replace(state, unknown=after), ()


def see_advice(state: State, seen: Seen, policy: Policy, now: Now) -> Step:  # noqa: ARG001
    """What the provider says of its room, while the instance is off; kept until it says something else."""
    obs = seen.understood
    if obs is None or obs.state not in OFF or obs.advice in (None, state.advice):
        return state, ()
    return replace(state, advice=obs.advice), ()


def see_absent(state: State, seen: Seen, policy: Policy, now: Now) -> Step:  # noqa: ARG001
    """In how many looks there was no such instance. A look without an answer says nothing of it."""
    if seen.understood is not None:
        return (replace(state, absent=None) if state.absent is not None else state), ()
    if seen.word != ProviderState.GONE.value:
        return state, ()
    before = state.absent
    after = Absent(now.mark) if before is None else replace(before, polls=before.polls + 1)
    return replace(state, absent=after), ()


def see_drill(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """An announced drill, until it is withdrawn or too old. One that cannot be read changes nothing."""
    found, before = seen.drill, state.drill
    if isinstance(found, Unreadable) or (found is None and before is None):
        return state, ()
    if found is None:
        assert before is not None
        event = told("drill-over", policy, now, detail={"run": before.run, REHEARSAL: True})
        return replace(state, drill=None), (event,)
    if before is not None and before.run == found.run:
        return state, ()
    event = told(
        "drill-announced", policy, now, reason=found.by, detail={"run": found.run, REHEARSAL: True}
    )
    return replace(state, drill=Drill(found.run, now.mark)), (event,)


def see_outage(state: State, seen: Seen, policy: Policy, now: Now) -> Step:  # noqa: ARG001
    """A stretch in which the store cannot be read."""
    if not isinstance(seen.store, Unreadable):
        return (replace(state, away=None) if state.away is not None else state), ()
    since = state.away.since if state.away is not None else now.mark
    return replace(state, away=Away(since, seen.store.why)), ()


def see_owner(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """Who owns it by the LIST. Taken over from another, a start of that one may be open: a window passes first."""
    own = own_identity(policy)
    if own is None or isinstance(seen.store, Unreadable):
        return state, ()
    owner = owner_among(seen.store.listing.owners)
    if owner is None:
        return replace(state, owner=None), ()
    before = state.owner
    if before is not None and before.identity == owner.identity:
        if before.polls > OWNER_POLLS:
            return state, ()
        return replace(state, owner=replace(before, polls=before.polls + 1)), ()
    after = replace(state, owner=Ownership(owner.identity, 1))
    others = [name for name in seen.store.listing.owners if not name.endswith(f"-{own}")]
    if owner.identity == own and others:
        after = replace(after, ask=Ask(now.mark, recovered=True))
    detail = {"owner": owner.identity, "this": owner.identity == own}
    return after, (told("owner", policy, now, reason=owner.identity[:8], detail=detail),)


def see_keep(state: State, seen: Seen, policy: Policy, now: Now) -> Step:  # noqa: ARG001
    """The newest sign that somebody keeps it on, by the moment at which it was first seen here."""
    if isinstance(seen.store, Unreadable) or (name := seen.store.newest_keep) is None:
        return state, ()
    if state.keep is not None and state.keep.name == name:
        return state, ()
    return replace(state, keep=Keep(name, now.mark)), ()


def see_over(state: State, seen: Seen, policy: Policy, now: Now) -> Step:  # noqa: ARG001
    """Since when the run is known to be over."""
    known = state.over_since is not None
    over = state.run is not None and over_by(state.run, now, known=known) is not None
    if over == known:
        return state, ()
    return replace(state, over_since=now.mark if over else None), ()


def see_silent(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """It has run for long, and its guest put no fact though the store takes them."""
    life = state.life
    if life is None or life.boot is not None or policy.local:
        return (replace(state, silent=None) if state.silent is not None else state), ()
    obs = seen.understood
    if obs is None or obs.state is not ProviderState.RUNNING or isinstance(seen.store, Unreadable):
        return state, ()
    if state.silent is None and state.since is not None and since_s(state.since, now) >= SILENT_S:
        return replace(state, silent=now.mark), ()
    return state, ()


def see_word(state: State, seen: Seen, policy: Policy, now: Now) -> Step:  # noqa: ARG001
    """The provider's word, and since when it is the same."""
    obs = seen.understood
    if obs is None:
        return state, ()
    last_start = latest(state.last_start, obs.last_start)
    since = state.since if obs.state.value == state.word else now.mark
    dead = obs.state is ProviderState.UNRESTARTABLE
    polls = state.counts.unrestartable + 1 if dead else 0
    same = obs.state.value == state.word and last_start == state.last_start
    if same and polls == state.counts.unrestartable:
        return state, ()
    counts = replace(state.counts, unrestartable=polls)
    after = replace(state, word=obs.state.value, since=since, last_start=last_start, counts=counts)
    return after, ()


def see_price(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """A price is an event when it is new; the moment of its reading alone is not news. A life keeps its first one."""
    price, before = seen.price, state.price
    if price is None or isinstance(price, Unreadable):
        return state, ()
    if state.life is not None and state.life.price is None:
        state = replace(state, life=replace(state.life, price=price))
    if before is not None and replace(before, as_of=price.as_of) == price:
        return state, ()
    return replace(state, price=price), (told("price-read", policy, now, price=price),)


def see_finished(state: State, seen: Seen, policy: Policy, now: Now) -> Step:  # noqa: ARG001
    """How many episodes are finished, by the guest's figures and by facts; no figure is ever taken back."""
    found = [state.counts.finished]
    if seen.guest is not None and seen.guest.finished is not None:
        found.append(seen.guest.finished)
    if not isinstance(seen.store, Unreadable):
        found.append(seen.store.finished)
    if (most := max(found)) == state.counts.finished:
        return state, ()
    return replace(state, counts=replace(state.counts, finished=most)), ()
