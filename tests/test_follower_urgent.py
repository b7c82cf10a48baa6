"""publication-follower: when calls that are under way have to end."""

import threading
from dataclasses import dataclass

import pytest

from spoteval_agents.publication_follower.urgent import GRACE_S, LOOK_S, Urgent


@dataclass
class World:
    """A clock, whether something is wanted, and how often that was looked for."""

    now_s: float = 100.0
    is_wanted: bool = False
    looks: int = 0

    def urgent(self) -> Urgent:
        """Of this world."""
        return Urgent(self.look, lambda: self.now_s)

    def look(self) -> bool:
        """Costs a look into a directory."""
        self.looks += 1
        return self.is_wanted


def test_it_is_looked_for_rarely() -> None:
    """At LOOK_S, not a moment before; calls ask thousands of times a second."""
    world = World(is_wanted=True)
    urgent = world.urgent()
    for _ in range(1000):
        assert not urgent()
    assert world.looks == 0
    world.now_s += LOOK_S
    assert not urgent()
    assert world.looks == 1


@pytest.mark.parametrize(("passed_s", "is_over"), [(GRACE_S - 0.001, False), (GRACE_S, True)])
def test_calls_have_a_moment_to_end(passed_s: float, is_over: bool) -> None:
    """While nothing more begins from the first look on; and it stays so, whatever becomes of the request."""
    world = World(is_wanted=True)
    urgent = world.urgent()
    assert urgent.look()
    assert not urgent()
    world.is_wanted = False
    world.now_s += passed_s
    assert urgent() is is_over
    assert urgent.look()


def test_other_threads_hear_what_the_main_one_saw() -> None:
    """They do not look themselves: whether a signal came is the main thread's to see."""
    world = World(is_wanted=True)
    urgent = world.urgent()
    world.now_s += LOOK_S
    heard = list[bool]()

    def ask() -> None:
        heard.append(urgent())

    for _ in range(2):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        urgent.look()
        world.now_s += GRACE_S
    assert heard == [False, True]
    assert world.looks == 1
