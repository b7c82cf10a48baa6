"""Days of the restarter's life in virtual time: what must never happen does not, what must happens.

Every history judges every invariant at every step. Each test here makes sure that its own had something to judge.
The same at length, on all cores and with the table of rows and faults: tests/sim/run.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.figures import Figures
from sim.restarter_sim import Sim
from sim.scene import Scene, scene_of
from sim.shrink import Failed
from sim.sim_run import shortest, told


def lived(*scenes: Scene, preemptions: int = 6) -> Figures:
    """The figures of these histories; one that fails is told in its shortest form."""
    total = Figures()
    for scene in scenes:
        found = told(scene, preemptions)
        if isinstance(found, Failed):
            pytest.fail(shortest(found, replays=40).text())
        total.add(found.figures)
    return total


def test_i1_no_start_while_held_dear_or_over() -> None:
    """Holds that come at any moment, prices above the cap, runs that end."""
    figures = lived(scene_of(0), scene_of(1))
    assert min(figures.starts, figures.holds, figures.rows[1]) >= 8
    assert figures.rows[17] >= 1


def test_i1_no_start_by_one_who_is_not_the_owner() -> None:
    """Two restarters, one instance, and people who move it from one to the other."""
    figures = lived(scene_of(8), scene_of(16))
    assert figures.rows[16] >= 10
    assert figures.starts >= 6


def test_i2_one_request_is_open_whatever_is_cut_or_lost() -> None:
    """Crashes at any write and at the request itself, and answers that do not come."""
    figures = lived(scene_of(7), scene_of(16))
    assert figures.doubled == 0
    assert min(figures.crashes, figures.starts) >= 8
    assert figures.answers_lost >= 1


def test_i5_only_people_lift_a_hold() -> None:
    """A hold is obeyed at the next poll and remembered; after its release some other row is reached."""
    figures = lived(scene_of(4), scene_of(7))
    assert min(figures.holds, figures.releases) >= 10


def test_i6_own_actions_form_no_cycle() -> None:
    """Stops are not repeated in a hurry, undone by own starts, or taken for somebody's; rules trip once."""
    figures = lived(scene_of(25), scene_of(20))
    assert figures.stops >= 2
    assert figures.rows[14] + figures.rows[10] >= 1


def test_i7_what_nobody_needs_is_stopped() -> None:
    """Under holds that want it off, after the end of its run, and when it says nothing."""
    figures = lived(scene_of(8), scene_of(9))
    assert figures.stops >= 2


def test_i11_what_is_stopped_and_free_is_started_in_time() -> None:
    """Without any fault: from the stop to the request, one poll, the grace and a poll after its end."""
    figures = lived(Scene(7, rough=0.0), Scene(8, rough=0.0))
    assert figures.crashes == figures.missed == 0
    assert figures.starts >= 12


def test_on_a_real_disk() -> None:
    """Real files with fsync, and the store of a directory: nothing of what makes the others quick."""
    scene = scene_of(17)
    assert scene.disk
    assert lived(scene, preemptions=3).starts >= 1


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), rough=st.sampled_from([0.0, 0.5, 1.0, 3.0]), two=st.booleans())
def test_any_seed(seed: int, rough: float, two: bool) -> None:
    """Whatever the weather and however rough: no violation."""
    assert lived(Scene(seed, rough, two), preemptions=1).doubled == 0


def test_a_seed_reproduces() -> None:
    """Every decision at its second, and every figure."""
    one, two, other = (told(scene_of(seed), 2) for seed in (7, 7, 8))
    assert isinstance(one, Sim)
    assert isinstance(two, Sim)
    assert isinstance(other, Sim)
    assert one.trace == two.trace
    assert one.figures == two.figures
    assert other.trace != one.trace
