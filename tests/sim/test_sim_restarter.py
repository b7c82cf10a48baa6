"""Days of the restarter's life in virtual time: what must never happen does not, what must happens."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crash_points import CrashPoints
from sim.restarter_sim import Figures, Sim, Violated
from spoteval.clock import Now
from spoteval.shape import Unreadable
from spoteval_agents.restarter import cycle as cycle_module
from spoteval_agents.restarter.observe import observe
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import State
from spoteval_agents.restarter.telling import News
from spoteval_agents.restarter.world import World

Make = Callable[..., Sim]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory, crash_points: CrashPoints) -> Make:
    """A history of its own directory for each seed that is tried."""
    numbers = itertools.count()
    base = tmp_path_factory.mktemp("sim")

    def made(seed: int, rough: float = 1.0) -> Sim:
        root: Path = base / str(next(numbers))
        root.mkdir()
        return Sim(root, seed, crash_points, rough)

    return made


def test_days_with_crashes_and_faults(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    """I1, I2, I5, I7 and I11 hold through preemptions, lost answers, silence, slow calls and crashes at any write."""
    total = Figures()
    for seed in (1, 2, 3):
        total.add(make(seed).steps(900))
    with capsys.disabled():
        print(f"\nrestarter, seeds 1 to 3: {total.line()}")
    assert total.doubled == 0
    assert min(total.preemptions, total.starts, total.capacity_failures, total.holds) >= 15
    assert total.crashes >= 100
    assert min(total.answers_lost, total.stops) >= 2


ANY = st.integers(0, 2**32)
ROUGH = st.sampled_from([0.0, 0.3, 1.0, 3.0])
few = settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@few
@given(seed=ANY, rough=ROUGH)
def test_i1_nothing_starts_while_held_over_or_too_dear(seed: int, rough: float, make: Make) -> None:
    """The market is held against holds, end and cap at each start call; any violation fails."""
    assert make(seed, rough).steps(120).doubled == 0


@few
@given(seed=ANY, rough=ROUGH)
def test_i2_one_request_is_open_at_most(seed: int, rough: float, make: Make) -> None:
    """However answers are lost and processes die; any violation fails."""
    assert make(seed, rough).steps(120).doubled == 0


@few
@given(seed=ANY, rough=ROUGH)
def test_i5_a_hold_stands_until_a_person_lifts_it(seed: int, rough: float, make: Make) -> None:
    """In the store and in the restarter's memory, at every step; any violation fails."""
    assert make(seed, rough).steps(120).doubled == 0


@few
@given(seed=ANY, rough=ROUGH)
def test_i11_what_may_start_does(seed: int, rough: float, make: Make) -> None:
    """Stopped and free: started within grace, windows and backoff; any violation fails."""
    assert make(seed, rough).steps(120).doubled == 0


def test_a_seed_reproduces(make: Make) -> None:
    """Every decision at its second, and every figure."""
    one, two = make(7), make(7)
    assert one.steps(150) == two.steps(150)
    assert one.trace == two.trace
    assert make(8).steps(150) != one.figures


def test_i2_without_an_intent_on_disk_it_would_start_twice(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulation itself: writing after acting is found out."""
    monkeypatch.setattr(cycle_module, "intend", lambda decision, state, *rest: (state, ()))
    with pytest.raises(Violated, match="I2"):
        make(1).steps(1200)


def test_i1_without_a_second_look_it_would_start_while_held(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulation itself: holds that come with the price are found out."""

    def priced(world: World, state: object, seen: object) -> object:
        return replace(seen, price=world.provider.price(1.0))  # type: ignore[type-var]

    monkeypatch.setattr(World, "look_again", priced)
    with pytest.raises(Violated, match="I1: started while held"):
        make(3, 3.0).steps(3000)


def test_i11_a_restarter_that_sleeps_would_start_too_late(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulation itself: a start that does not come is found out."""
    monkeypatch.setattr("spoteval_agents.restarter.rules.backoff_s", lambda *_: 1e9)
    with pytest.raises(Violated, match="I11"):
        make(1, 0.0).steps(3000)


def test_i7_a_restarter_that_never_stops_is_found_out(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulation itself: a machine that runs on under its own end's hold."""
    monkeypatch.setattr("spoteval_agents.restarter.case.Case.on", property(lambda case: False))
    with pytest.raises(Violated, match="I7"):
        make(1, 0.3).steps(2000)


def test_i5_a_restarter_that_forgets_is_found_out(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulation itself: a hold that is remembered only while the store answers."""

    def forgetful(state: State, seen: Seen, policy: Policy, now: Now) -> tuple[State, News]:
        after, news = observe(state, seen, policy, now)
        return (replace(after, holds=()) if isinstance(seen.store, Unreadable) else after), news

    monkeypatch.setattr(cycle_module, "observe", forgetful)
    with pytest.raises(Violated, match="I5: forgotten"):
        make(1, 3.0).steps(3000)
