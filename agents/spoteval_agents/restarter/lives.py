"""The half of `observe` about lives: RUNNING to STOPPED, with cause, cost and what each one counts for. Pure."""

from dataclasses import replace

from spoteval.clock import Now, stamp
from spoteval.event import REHEARSAL, Event
from spoteval.provider.contract import Observation
from spoteval.provider.contract import State as ProviderState
from spoteval.shape import Unreadable
from spoteval_agents.restarter.cause import DRILL, ON_PURPOSE, OWN_STOP, cause_of, reason_of
from spoteval_agents.restarter.moments import is_later, latest
from spoteval_agents.restarter.policy import Policy, since_s
from spoteval_agents.restarter.seen import OFF, Seen
from spoteval_agents.restarter.state import UNKNOWN_BOOT, Counts, Life, State, Stop
from spoteval_agents.restarter.telling import Step, told

INTERRUPTED = frozenset(["preempted", "platform", "unknown"])
"""Causes that are neither ours nor a person's. Only they count for the loop guard and the rules."""
_ON_WORDS = frozenset(["RUNNING", "STOPPING"])
_OFF_WORDS = frozenset(state.value for state in OFF)


def see_missed_stop(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """It was on, and now is starting, or runs since another start or boot: it was off between two looks."""
    obs, life = seen.understood, state.life
    if obs is None or life is None or state.word not in _ON_WORDS or obs.state in OFF:
        return state, ()
    if (evidence := _missed_by(life, state, seen, obs)) is None:
        return state, ()
    last = life.boot if life.boot is not None else life.boot_seq
    cause, found = cause_of(state, seen, None, last)
    return ended(state, seen, policy, now, (cause, evidence if found == "none" else found), last)


def see_stopped(state: State, seen: Seen, policy: Policy, now: Now) -> Step:
    """It is off: a life has ended, or a start came to nothing, or it goes on being off."""
    obs = seen.understood
    if obs is None or obs.state not in OFF:
        return state, ()
    if state.life is None:
        return _explained(_still_off(state, obs)), ()
    last = 0 if isinstance(seen.store, Unreadable) else seen.store.boot_seq
    state = replace(state, last_start=latest(state.last_start, obs.last_start))
    after, news = ended(state, seen, policy, now, cause_of(state, seen, obs, last), last)
    asks = state.stop_asks if obs.billed is True else None
    return replace(after, word=obs.state.value, since=now.mark, stop_asks=asks), news


def see_boot(state: State, seen: Seen, policy: Policy, now: Now) -> Step:  # noqa: ARG001
    """Which boot belongs to the life that goes on, and which was the newest while it was off."""
    if isinstance(seen.store, Unreadable) or seen.understood is None:
        return state, ()
    newest, life = seen.store.boot_seq, state.life
    if life is not None:
        if newest <= max(0, life.boot_seq) or newest == life.boot:
            return state, ()
        return replace(state, life=replace(life, boot=newest)), ()
    is_known = newest == state.counts.boot_seq
    if is_known or state.ask is not None or seen.understood.state not in OFF:
        return state, ()
    return replace(state, counts=replace(state.counts, boot_seq=newest)), ()


def ended(
    state: State, seen: Seen, policy: Policy, now: Now, why: tuple[str, str], last_boot: int
) -> Step:
    """A life is over; `last_boot` was the last boot in it, 0 where the store could not say."""
    life = state.life
    assert life is not None
    up_s = round(since_s(life.since, now), 3)
    booted, healthy = (None, None) if policy.local else _facts(life, seen, last_boot)
    stop = Stop(*why, up_s, booted, healthy, state.held, state.last_start)
    short = up_s <= policy.poll.short_run_s
    counts = counted(state.counts, stop, short=short)
    counts = replace(counts, boot_seq=max(counts.boot_seq, last_boot, life.boot or 0))
    spent = state.spent + cost(life, up_s)
    after = replace(state, life=None, stop=stop, spent=spent, counts=counts, silent=None)
    return after, (_stopped(after, stop, policy, now, short=short),)


def counted(counts: Counts, stop: Stop, *, short: bool) -> Counts:
    """The counts after this stop. Stops on purpose neither count nor break a row; a long run does.

    What a guest should have said counts only where it said that it booted, and its silence only after a run that
    was long enough to boot: a short one is the loop guard's.
    """
    cut = stop.cause in INTERRUPTED
    runs = counts.short_runs + 1 if cut else counts.short_runs
    counts = replace(counts, short_runs=runs if short else 0)
    if stop.booted is True:
        unhealthy = 0 if stop.healthy else counts.unhealthy + int(cut)
        interrupted = counts.interrupted + int(cut)
        return replace(counts, unhealthy=unhealthy, interrupted=interrupted, faceless=0)
    if stop.booted is False and not short:
        return replace(counts, faceless=counts.faceless + 1)
    return counts


def cost(life: Life, up_s: float) -> float:
    """What a life cost, 0 where its price is not known."""
    return life.price.amount * up_s / 3600.0 if life.price is not None else 0.0


def _missed_by(life: Life, state: State, seen: Seen, obs: Observation) -> str | None:
    if obs.state is ProviderState.STARTING:
        return "starting-again"
    known, said = state.last_start, obs.last_start
    if known is not None and said is not None:
        return "newer-start" if is_later(said, known) else None
    if isinstance(seen.store, Unreadable) or life.boot is None or life.boot_seq == UNKNOWN_BOOT:
        return None
    return "newer-boot" if seen.store.boot_seq > life.boot else None


def _stopped(state: State, stop: Stop, policy: Policy, now: Now, *, short: bool) -> Event:
    """The event of a stop; one that a person made is the person's."""
    detail = {
        "up_s": stop.up_was_s,
        "spent": round(state.spent, 4),
        "short": short,
        "booted": stop.booted,
        "healthy": stop.healthy,
        "held": stop.held,
        "boot_seq": state.counts.boot_seq,
        "last_start": stamp(stop.last_start) if stop.last_start is not None else None,
        REHEARSAL: True if stop.evidence == DRILL else None,
    }
    known = {key: value for key, value in detail.items() if value is not None}
    event = told("stopped", policy, now, reason=stop.cause, evidence=stop.evidence, detail=known)
    return replace(event, source="operator") if stop.cause == "user" else event


def _facts(life: Life, seen: Seen, last_boot: int) -> tuple[bool | None, bool | None]:
    """Whether a boot of this life put `booted` and `healthy`; None where that cannot be known."""
    if isinstance(seen.store, Unreadable):
        return None, None
    boots = range(life.boot_seq + 1, last_boot + 1)
    names = {fact.name for fact in seen.store.listing.facts if fact.seq in boots}
    if names and "booted" not in names:
        return None, None
    return bool(names), "healthy" in names


def _still_off(state: State, obs: Observation) -> State:
    """No life has ended here. Where it comes to stand still, the provider may say that a person did that."""
    if state.word in _OFF_WORDS:
        asks = state.stop_asks if obs.billed is True else None
        return replace(state, stop_asks=asks)
    if state.stop_asks is not None:
        own = Stop("restarter", OWN_STOP, 0.0, last_start=state.last_start)
        return replace(state, stop=own)
    if obs.cause is None or obs.cause not in ON_PURPOSE or _is_known(state.stop, obs):
        return state
    return replace(state, stop=Stop(obs.cause, reason_of(obs), 0.0, last_start=obs.last_start))


def _is_known(stop: Stop | None, obs: Observation) -> bool:
    """Whether the provider's reason is that of the stop that is remembered: it goes on giving the last one."""
    if stop is None:
        return False
    if obs.last_start is None or stop.last_start is None:
        return True
    return not is_later(obs.last_start, stop.last_start)


def _explained(state: State) -> State:
    """A hold that stands while it is off speaks for the stop."""
    if state.stop is None or state.stop.held or not state.held:
        return state
    return replace(state, stop=replace(state.stop, held=True))
