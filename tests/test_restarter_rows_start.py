"""Rows 15 to 17 beyond grace, backoff and cap: loop guard, owner, prices under a spend limit."""

from dataclasses import replace

import pytest

from restarter_story import ME, OTHER, POLICY, PRICE, look, mark, now, stopped
from spoteval.config.grant import Grant
from spoteval.config.restarter import PollSettings
from spoteval.decision import Decision
from spoteval.provider.contract import ErrorKind
from spoteval.settings.money import Money
from spoteval.shape import Unreadable
from spoteval_agents.restarter.decide import decide, pause_s
from spoteval_agents.restarter.policy import (
    Policy,
    guard_pause_s,
    own_identity,
    rated_s,
    since_s,
)
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import Counts, Ownership, Refusal, Stop, Unknown
from spoteval_agents.restarter.state import State as Memory

FREE = look(price=PRICE)


def said(memory: Memory, seen: Seen = FREE, at_s: float = 0, policy: Policy = POLICY) -> Decision:
    """The decision at that second."""
    return decide(memory, replace(seen, taken=mark(at_s)), policy, now(at_s))


def short(runs: int, since_s: float = 0) -> Memory:
    """Stopped after so many short runs in a row."""
    stop = Stop("preempted", "guest-marker", 31)
    return stopped(since_s, stop=stop, counts=Counts(short_runs=runs))


# Row 15


@pytest.mark.parametrize(
    ("runs", "pause_s_"), [(4, 0), (5, 1800), (6, 3600), (7, 7200), (8, None), (100, None)]
)
def test_row_15_the_loop_guard_pauses_ever_longer(runs: int, pause_s_: float | None) -> None:
    """30, 60 and 120 min after the fifth, sixth and seventh short run in a row; then nothing but a hold."""
    assert guard_pause_s(runs, 5) == pause_s_


@pytest.mark.parametrize(
    ("runs", "at_s", "expected"),
    [
        (4, 60, "start"),
        (5, 59, "grace"),
        (5, 60, "loop-guard"),
        (5, 1799, "loop-guard"),
        (5, 1800, "start"),
        (6, 3599, "loop-guard"),
        (6, 3600, "start"),
        (7, 7199, "loop-guard"),
        (7, 7200, "start"),
    ],
)
def test_row_15_the_pause_ends_at_its_second(runs: int, at_s: float, expected: str) -> None:
    """Counted from the stop; the grace goes first."""
    assert said(short(runs), at_s=at_s).word == expected


def test_row_15_loop_guard() -> None:
    """The line names cause, count and window, and when it goes on (complaint 19)."""
    assert said(short(5), at_s=600).line() == (
        "decision=loop-guard instance=gpu-1 state=STOPPED short_runs=5 limit=5 short_run_s=600"
        " cause=preempted pause_s=1800 wait_left_s=1200 holds=none"
        ' why="5 runs in a row ended within 10 min of RUNNING (last: preempted); next try in'
        ' 20 min"'
    )


def test_row_15_loop_guard_holds_in_the_end() -> None:
    """The eighth (complaint 18)."""
    assert said(short(8), at_s=60).line() == (
        "decision=loop-guard instance=gpu-1 state=STOPPED short_runs=8 limit=5 short_run_s=600"
        " cause=preempted action=hold alert=needs_you holds=none"
        ' why="8 runs in a row ended within 10 min of RUNNING (last: preempted); held, nothing is'
        ' running"'
    )


def test_row_15_a_guard_of_other_size() -> None:
    """The limit is the operator's."""
    policy = replace(POLICY, poll=PollSettings(loop_guard=2))
    assert said(short(2), at_s=60, policy=policy).word == "loop-guard"
    assert said(short(1), at_s=60, policy=policy).word == "start"


@pytest.mark.parametrize(("at_s", "expected"), [(112, "backoff"), (112.5, "start"), (113, "start")])
def test_row_15_a_refused_start_waits_an_eighth_of_a_window(at_s: float, expected: str) -> None:
    """Always the same: only capacity and unknown move the backoff."""
    memory = stopped(-60, refusal=Refusal(mark(0), "auth"), failing_since=mark(-20))
    assert said(memory, at_s=at_s).word == expected


def test_row_15_without_the_rule_the_line_says_when_it_tries_again() -> None:
    """There is no other date."""
    policy = replace(POLICY, grant=Grant(failed_starts_s=None))
    memory = stopped(-60, failures=1, failing_since=mark(0), failed_at=mark(900))
    assert said(memory, at_s=960, policy=policy).why == "no capacity once; next try in 52 s"


# Row 16


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (None, "not-owner"),
        (Ownership(OTHER, 9), "not-owner"),
        (Ownership(ME, 1), "not-owner"),
        (Ownership(ME, 2), "not-owner"),
        (Ownership(ME, 3), "start"),
    ],
)
def test_row_16_starts_only_after_two_looks_as_the_owner(
    owner: Ownership | None, expected: str
) -> None:
    """Not before anybody owns it, not while another does, not before the other has heard of it."""
    assert said(stopped(-60, owner=owner)).word == expected


@pytest.mark.parametrize(
    ("owner", "pairs", "why"),
    [
        (None, "owner=none", "nobody owns it yet; this restarter takes it over"),
        (
            Ownership(OTHER, 9),
            "owner=0b000000",
            "another restarter serves it; to move it here: spoteval restarter adopt gpu-1",
        ),
        (
            Ownership(ME, 2),
            "owner=this polls=2",
            "taken over just now; nothing is started for 2 looks",
        ),
    ],
)
def test_row_16_not_owner(owner: Ownership | None, pairs: str, why: str) -> None:
    """Who it is, and the one command that changes it."""
    soon = "" if owner is not None and owner.identity == OTHER else " next_s=10"
    assert said(stopped(-60, owner=owner)).line() == (
        f'decision=not-owner instance=gpu-1 state=STOPPED {pairs} holds=none{soon} why="{why}"'
    )


def test_row_16_a_host_without_a_name_owns_nothing() -> None:
    """The line says what is damaged."""
    policy = replace(POLICY, identity=Unreadable("/var/lib/spoteval/identity: damaged"))
    found = said(stopped(-60), policy=policy)
    assert (found.word, found.pairs["error"]) == (
        "not-owner",
        "/var/lib/spoteval/identity: damaged",
    )
    assert own_identity(policy) is None
    assert own_identity(POLICY) == ME


def test_row_16_without_a_register_there_is_no_question() -> None:
    """A host whose holds are files alone is the only one."""
    policy = replace(POLICY, identity=None, local=True)
    assert said(stopped(-60, owner=None, run=None), policy=policy).word == "start"


def test_row_16_goes_after_every_wait() -> None:
    """A restarter that owns nothing still says what it would wait for."""
    assert said(stopped(0, owner=None), at_s=59).word == "grace"
    assert said(replace(short(8), owner=None), at_s=60).word == "loop-guard"


# Row 17


def test_row_17_a_spend_limit_needs_a_price_too() -> None:
    """What was not read cannot be counted."""
    policy = replace(POLICY, grant=Grant(spend=Money(600, "USD")))
    assert said(stopped(-60), look(price=Unreadable("timeout:10s")), policy=policy).line() == (
        "decision=price-unknown instance=gpu-1 state=STOPPED error=timeout:10s spend_limit=600.00"
        ' currency=USD holds=none why="a spend limit is set and no price can be held against it:'
        ' nothing is started"'
    )
    assert said(stopped(-60), policy=policy).word == "start"


# The next look


@pytest.mark.parametrize(
    ("refusals", "expected"), [(0, 60), (1, 120), (2, 240), (3, 480), (4, 900), (99, 900)]
)
def test_too_many_requests_widen_the_interval(refusals: int, expected: float) -> None:
    """Doubled each time, up to a quarter of an hour (complaint 17)."""
    assert rated_s(60, refusals) == expected
    memory = stopped(-60, counts=Counts(rated=refusals))
    if refusals:
        assert pause_s(said(memory), memory, POLICY) == expected


def test_no_time_has_passed_while_nobody_can_know() -> None:
    """Since a mark of another boot, on a clock that is not synchronised: every wait stays a wait."""
    assert since_s(mark(0), now(60)) == 60.0
    assert since_s(mark(0), now(60, "b2")) == 60.0
    assert since_s(mark(0), now(60, "b2", synced=False)) == 0.0


def test_an_interval_that_is_longer_anyway_is_not_shortened() -> None:
    """A poll every hour stays one."""
    assert rated_s(3600, 5) == 3600


@pytest.mark.parametrize(
    ("kind", "expected"), [("rate", 480), ("timeout", 60), ("auth", 60), ("unknown", 60)]
)
def test_a_look_that_was_too_many_widens_it_too(kind: ErrorKind, expected: float) -> None:
    """By its kind, not by its text."""
    memory = stopped(-60, unknown=Unknown(mark(0), "rate: slow down", 3, kind))
    assert pause_s(said(memory, look(None)), memory, POLICY) == expected


def test_an_unknown_state_is_not_in_motion() -> None:
    """What was STOPPING when the provider fell silent is looked at once a minute."""
    memory = replace(stopped(-60, unknown=Unknown(mark(0), "x")), word="STOPPING")
    assert pause_s(said(memory, look(None)), memory, POLICY) == 60
