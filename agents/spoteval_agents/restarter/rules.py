"""The stop rules: what has tripped, and how far each one is. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from spoteval.clock import Now, left_s, stamp
from spoteval.line import Value
from spoteval_agents.restarter.case import Case, how_many, span, tenths
from spoteval_agents.restarter.policy import FACELESS_BOOTS, Policy, backoff_s, since_s
from spoteval_agents.restarter.state import State

FIXED = frozenset(["until", "currency", "type", "region"])
"""Rules that lifting a hold does not reset: the grant is the outer limit, and only its file changes it."""


@dataclass(frozen=True, slots=True)
class Trip:
    """One rule that has tripped: its name, its figures, and what a person is told."""

    rule: str
    pairs: dict[str, Value]
    text: str


def tripped(case: Case) -> Trip | None:
    """The first rule that has tripped and is not waived, else the first that is."""
    found = list(_trips(case))
    new = (trip for trip in found if trip.rule not in case.state.waived)
    return next(new, found[0] if found else None)


def still_waived(case: Case) -> tuple[str, ...]:
    """The waived rules without those that the configuration has mended: the next time, each is news again."""
    if not case.state.waived:
        return ()
    found = {trip.rule for trip in _trips(case)}
    until = case.policy.grant.until
    if until is not None and left_s(until, case.now) is None:
        found.add("until")  # on a clock that cannot be believed nobody knows
    return tuple(rule for rule in case.state.waived if rule in found)


def run_spent(state: State) -> float:
    """What was spent on this run, its life that goes on left out."""
    return max(0.0, state.spent - state.counts.spent_from)


def run_starts(state: State) -> int:
    """Starts of this run."""
    return max(0, state.starts - state.counts.starts_from)


def retry_left_s(state: State, policy: Policy, now: Now) -> float:
    """Seconds until a failed or refused start is followed by another; negative when that moment is past."""
    poll = policy.poll
    waits: list[float] = []
    if state.failed_at is not None:
        wait_s = backoff_s(state.failures, poll.start_window_s, poll.backoff_max_s)
        waits.append(wait_s - since_s(state.failed_at, now))
    if state.refusal is not None:
        waits.append(policy.retry_s - since_s(state.refusal.at, now))
    return max(waits, default=0.0)


def trying_s(state: State, policy: Policy, now: Now) -> float:
    """For how long starts have failed. The clock stands while something else than that keeps it from trying."""
    if state.failing_since is None:
        return 0.0
    overdue_s = max(0.0, -retry_left_s(state, policy, now))
    return max(0.0, since_s(state.failing_since, now) - overdue_s)


def _trips(case: Case) -> Iterator[Trip]:
    yield from _failed_starts(case)
    yield from _preemptions(case)
    yield from _faceless(case)
    yield from _money(case)
    yield from _grant(case)


def _failed_starts(case: Case) -> Iterator[Trip]:
    limit_s, seen_s = case.limits.failed_starts_s, trying_s(case.state, case.policy, case.now)
    if limit_s is not None and case.state.failing_since is not None and seen_s >= limit_s:
        pairs: dict[str, Value] = {"limit_s": tenths(limit_s), "seen_s": tenths(seen_s)}
        yield Trip("failed_starts", pairs, f"{span(seen_s)} of failed starts")


def _preemptions(case: Case) -> Iterator[Trip]:
    counts, limits = case.state.counts, case.limits
    most = limits.preemptions_before_healthy
    if most is not None and counts.unhealthy >= most:
        text = f"{how_many(counts.unhealthy, 'preemption')} in a row before it was healthy"
        yield Trip("preemptions_before_healthy", {"limit": most, "seen": counts.unhealthy}, text)
    if limits.preemptions_before_episodes is None:
        return
    most, episodes = limits.preemptions_before_episodes
    if counts.interrupted >= most and counts.finished < episodes:
        pairs: dict[str, Value] = {
            "limit": most,
            "seen": counts.interrupted,
            "episodes": episodes,
            "finished": counts.finished,
        }
        text = f"{how_many(counts.interrupted, 'preemption')} and {counts.finished} episodes"
        yield Trip("preemptions_before_episodes", pairs, f"{text} of {episodes} finished")


def _faceless(case: Case) -> Iterator[Trip]:
    seen = case.state.counts.faceless
    if seen >= FACELESS_BOOTS:
        text = f"{how_many(seen, 'boot')} in a row that ran and whose guest said nothing"
        yield Trip("no_facts", {"limit": FACELESS_BOOTS, "seen": seen}, text)


def _money(case: Case) -> Iterator[Trip]:
    spend, starts, price = case.limits.spend, case.limits.starts, case.state.price
    spent, started = run_spent(case.state), run_starts(case.state)
    if spend is not None and spent >= spend.amount:
        pairs: dict[str, Value] = {
            "limit": f"{spend.amount:.2f}",
            "seen": f"{spent:.2f}",
            "currency": spend.currency,
        }
        yield Trip("spend", pairs, f"{spent:.2f} of {spend.amount:.2f} {spend.currency} spent")
    if spend is not None and price is not None and price.currency != spend.currency:
        text = f"a spend limit in {spend.currency}, prices in {price.currency}"
        yield Trip("currency", {"limit": spend.currency, "seen": price.currency}, text)
    if starts is not None and started >= starts:
        yield Trip("starts", {"limit": starts, "seen": started}, f"{started} starts of {starts}")


def _grant(case: Case) -> Iterator[Trip]:
    grant, policy = case.policy.grant, case.policy
    left = left_s(grant.until, case.now) if grant.until is not None else None
    if grant.until is not None and left is not None and left <= 0:
        day = stamp(grant.until)
        yield Trip("until", {"limit": day, "seen_s": tenths(-left)}, f"granted until {day}")
    for rule, own, allowed in (
        ("type", policy.type, grant.types),
        ("region", policy.region, grant.regions),
    ):
        if allowed and own not in allowed:
            pairs: dict[str, Value] = {"limit": ",".join(allowed), "seen": own or "none"}
            yield Trip(rule, pairs, f"{rule} {own or 'unknown'} is outside the grant")
