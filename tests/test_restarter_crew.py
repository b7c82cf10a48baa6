"""Who serves the instances: a provider that does not answer delays its own kind alone, and no thread dies unseen."""

from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from restarter_world import Clock, Host
from spoteval.loop import Wake
from spoteval.machine.systemd import Notifier
from spoteval.provider.contract import State
from spoteval_agents.restarter.agent import run
from spoteval_agents.restarter.crew import Threads
from spoteval_agents.restarter.served import Served

LIMIT_S = 20.0


class Turns:
    """Lets the time pass, once the instances that answer were served, and ends after so many waits."""

    def __init__(self, clock: Clock, answering: Served, turns: int) -> None:
        self.clock, self.answering, self.turns = clock, answering, turns

    def wait(self, timeout_s: float) -> Wake:
        """One turn of the loop, without waiting for real."""
        idle = Event()
        while self.answering.busy_since_s is not None:
            idle.wait(0.001)
        self.clock.seconds += timeout_s
        self.turns -= 1
        return Wake("signal" if self.turns == 0 else "time")


def in_lane(host: Host, lane: str, clock: Clock) -> Served:
    """That host's instance, running, in the threads of one provider."""
    host.provider.is_now(State.RUNNING)
    one = Served(replace(host.world, clock=clock), host.book, host.log, host.policy)
    one.lane = lane
    return one


@pytest.mark.usefixtures("unblocked")
def test_a_slow_provider_delays_no_other(tmp_path: Path) -> None:
    """One look never comes back; the instance of another provider is looked at every minute all the same."""
    clock, answers = Clock(), Event()
    stuck, free = Host(tmp_path / "a"), Host(tmp_path / "b")
    stuck.provider.at_observe = lambda: _wait(answers)
    looks: list[float] = []
    free.provider.at_observe = lambda: looks.append(clock.seconds)
    one, other = in_lane(stuck, "slow", clock), in_lane(free, "quick", clock)
    crew = Threads([one, other])
    run([one, other], Turns(clock, other, 2500), clock, Notifier({}), crew)
    assert one.busy_since_s == 0.0
    answers.set()
    assert crew.failed is None
    assert [round(second) for second in looks[:10]] == [60 * turn for turn in range(10)]


@pytest.mark.usefixtures("unblocked")
def test_a_thread_that_dies_is_the_end_of_the_process(tmp_path: Path) -> None:
    """An error that no cycle gets over is raised where systemd sees it; nobody is left unserved in silence."""
    clock, host = Clock(), Host(tmp_path)

    def fail() -> None:
        raise RuntimeError("beyond repair")

    host.provider.at_observe = fail
    one = in_lane(host, "any", clock)
    with pytest.raises(RuntimeError, match="beyond repair"):
        run([one], Ticks(), clock, Notifier({}), Threads([one]))


class Ticks:
    """Really waits a little, so that the thread comes to its end."""

    def wait(self, timeout_s: float) -> Wake:
        """A hundredth of a second."""
        Event().wait(0.01)
        return Wake("time")


def _wait(answers: Event) -> None:
    answers.wait(LIMIT_S)
