"""publication-follower, its lanes: what computes stays in one thread, what waits is worth one of its own."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from spoteval_agents.publication_follower.lanes import (
    LOOK_S,
    WAIT_S,
    Failed,
    Lanes,
    is_worth_a_thread,
)


@dataclass
class Clocks:
    """Two clocks that work moves."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    names: list[str] = field(default_factory=list)

    def __call__(self) -> tuple[float, float]:
        """The present moment of both."""
        return self.wall_s, self.cpu_s

    def work(self, took_s: float, cpu_s: float) -> Callable[[int], int]:
        """Work that takes as long; where it was done is written down."""

        def act(item: int) -> int:
            self.names.append(threading.current_thread().name)
            self.wall_s += took_s
            self.cpu_s += cpu_s
            return item * 10

        return act


def _always() -> bool:
    return True


@pytest.mark.parametrize(
    ("took_s", "cpu_s", "is_worth"),
    [
        (WAIT_S, 0.0, False),
        (WAIT_S + 1e-6, 0.0, True),
        (0.020, 0.010, False),
        (0.021, 0.010, True),
        (0.010, 0.010, False),
    ],
)
def test_what_is_worth_a_thread(took_s: float, cpu_s: float, is_worth: bool) -> None:
    """At equal it is not: neither the least wait nor as much wait as work."""
    assert is_worth_a_thread(took_s, cpu_s) is is_worth


def test_what_computes_is_done_by_the_caller() -> None:
    """No thread is begun for it."""
    clocks = Clocks()
    lanes = Lanes(4, clocks)
    assert lanes.near(clocks.work(0.003, 0.003), range(5), _always) == [0, 10, 20, 30, 40]
    assert clocks.names == [threading.current_thread().name] * 5


def test_from_the_first_that_waits_on_the_rest_goes_to_the_lanes() -> None:
    """And every item is done once, in order."""
    clocks = Clocks()
    lanes = Lanes(4, clocks)
    assert lanes.near(clocks.work(1.0, 0.001), range(6), _always) == [0, 10, 20, 30, 40, 50]
    assert clocks.names == [threading.current_thread().name] + ["lane"] * 5


def test_what_fails_is_told_in_its_place() -> None:
    """It never blocks another."""

    def act(item: int) -> int:
        if item == 1:
            raise ValueError("bad")
        return item

    first, second, third = Lanes(4).near(act, range(3), _always)
    assert (first, third) == (0, 2)
    assert isinstance(second, Failed)
    assert isinstance(second.error, ValueError)


@pytest.mark.parametrize(("step_s", "done"), [(LOOK_S, 1), (LOOK_S - 1e-6, 2)])
def test_once_it_is_over_nothing_begins(step_s: float, done: int) -> None:
    """It is asked as often as the lanes ask, at the moment itself already: to ask costs as much as a small file."""
    clocks, said = Clocks(), iter([True, False])
    found = Lanes(4, clocks).near(clocks.work(step_s, step_s), range(4), lambda: next(said, False))
    assert found == [item * 10 if item < done else None for item in range(4)]
