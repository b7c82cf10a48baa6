"""Who serves the instances: one slow provider delays no other, and nothing fails unseen."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from restarter_story import POLICY
from restarter_world import Clock, Host
from spoteval.clock import monotonic_s, read_now
from spoteval.loop import Wake
from spoteval.machine.systemd import Notifier
from spoteval.provider.contract import State
from spoteval_agents.restarter.agent import WEDGED_S, run
from spoteval_agents.restarter.crew import Alone, Threads
from spoteval_agents.restarter.served import Served

LONG_S = 20.0


def served(root: Path, lane: str, at_observe: Callable[[], object] | None = None) -> Served:
    """One running instance of a provider, looked at by the real clock."""
    host = Host(root)
    host.provider.is_now(State.RUNNING)
    if at_observe is not None:
        look = at_observe
        host.provider.at_observe = lambda: (look(), None)[1]
    object.__setattr__(host.world, "clock", read_now)
    return Served(host.world, host.book, host.log, POLICY, lane)


class Until:
    """Waits as the waker does, in short steps, until something is true; then a signal comes."""

    def __init__(self, done: Callable[[], bool]) -> None:
        self.done, self.steps = done, 0

    def wait(self, timeout_s: float) -> Wake:
        self.steps += 1
        threading.Event().wait(min(timeout_s, 0.02))
        if self.done() or self.steps > LONG_S / 0.02:
            return Wake("signal", 15)
        return Wake("time")


def test_one_slow_provider_delays_no_others_poll(tmp_path: Path) -> None:
    """Two providers, one of which does not answer: the other's instances are all looked at meanwhile."""
    answers = threading.Event()
    slow = [served(tmp_path / f"s{n}", "slow", lambda: answers.wait(LONG_S)) for n in range(3)]
    quick = [served(tmp_path / f"q{n}", "quick") for n in range(3)]
    everyone = [*slow, *quick]
    crew = Threads(everyone)
    looked = Until(lambda: all(one.book.state.word == "RUNNING" for one in quick))
    run(everyone, looked, read_now, Notifier({}), crew)
    assert [one.book.state.word for one in quick] == ["RUNNING"] * 3
    assert [one.book.state.word for one in slow] == [None] * 3
    answers.set()
    run(
        everyone,
        Until(lambda: all(one.busy_since_s is None for one in slow)),
        read_now,
        Notifier({}),
        crew,
    )
    assert [one.book.state.word for one in slow] == ["RUNNING"] * 3


def test_instances_of_a_slow_provider_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """A queue that stands still gets one more thread at each tending, up to its limit."""
    together = threading.Barrier(3)
    apart: list[int] = []

    def meet() -> None:
        apart.append(together.wait(LONG_S))

    slow = [served(tmp_path / f"s{n}", "slow", meet) for n in range(3)]
    run(slow, Until(lambda: len(apart) == 3), read_now, Notifier({}), Threads(slow))
    assert sorted(apart) == [0, 1, 2]


def test_a_lane_has_no_more_threads_than_its_limit(tmp_path: Path) -> None:
    """Two of three are looked at; the third waits."""
    answers = threading.Event()
    inside: list[float] = []

    def stuck() -> None:
        inside.append(monotonic_s())
        answers.wait(LONG_S)

    slow = [served(tmp_path / f"s{n}", "slow", stuck) for n in range(3)]
    crew = Threads(slow, hands=2)
    run(slow, Until(lambda: len(inside) >= 2), read_now, Notifier({}), crew)
    for _ in range(9):
        crew.tend()
    threading.Event().wait(0.05)
    assert len(inside) == 2
    answers.set()
    run(slow, Until(lambda: len(inside) == 3), read_now, Notifier({}), crew)
    assert len(inside) == 3


def test_a_quick_lane_stays_one_thread(tmp_path: Path) -> None:
    """More of them would only get in each other's way."""
    names: set[str] = set()
    quick = [
        served(tmp_path / f"q{n}", "quick-one", lambda: names.add(threading.current_thread().name))
        for n in range(6)
    ]
    crew = Threads(quick)
    for one in quick:
        one.busy_since_s = 0.0
        crew.hand(one)
    done = Until(lambda: all(one.busy_since_s is None for one in quick))
    while done.wait(1).reason == "time":
        pass
    assert names == {"quick-one-0"}


def test_a_lane_that_was_slow_once_is_one_thread_again(tmp_path: Path) -> None:
    """As many as it took then would get in each other's way for ever."""
    together = threading.Barrier(3)
    slow = [True] * 3

    def look() -> None:
        if slow and slow.pop():
            together.wait(LONG_S)

    lane = [served(tmp_path / f"s{n}", "slow-once", look) for n in range(3)]
    crew = Threads(lane)
    run(lane, Until(lambda: not slow), read_now, Notifier({}), crew)
    settled = Until(lambda: all(one.busy_since_s is None for one in lane))
    for _ in range(9):
        while settled.wait(1).reason == "time":
            pass
        for one in lane:
            one.busy_since_s = 0.0
            crew.hand(one)
    while settled.wait(1).reason == "time":
        pass
    alive = {thread.name for thread in threading.enumerate() if "slow-once" in thread.name}
    assert len(alive) == 1


def test_a_thread_goes_on_while_the_others_hang(tmp_path: Path) -> None:
    """Quick as it is, it is not one too many: two are stuck, and more instances wait."""
    answers, looks = threading.Event(), list[float]()
    stuck = [served(tmp_path / f"s{n}", "mixed", lambda: answers.wait(LONG_S)) for n in range(2)]
    quick = [served(tmp_path / f"q{n}", "mixed", lambda: looks.append(1)) for n in range(9)]
    crew = Threads([*stuck, *quick])
    for one in (*stuck, *quick):
        crew.hand(one)
    begun, done = Until(lambda: bool(looks)), Until(lambda: len(looks) == len(quick))
    while begun.wait(1).reason == "time":
        crew.tend()
    while done.wait(1).reason == "time":
        pass
    answers.set()
    assert len(looks) == len(quick)


def test_what_nobody_can_get_over_ends_the_process(tmp_path: Path) -> None:
    """A bug in a thread is not a thread that quietly serves no more."""

    def bug() -> None:
        raise ZeroDivisionError("bug")

    one = served(tmp_path, "slow", bug)
    with pytest.raises(ZeroDivisionError):
        run([one], Until(lambda: False), read_now, Notifier({}), Threads([one]))


def test_an_instance_is_never_served_twice_at_once(tmp_path: Path) -> None:
    """A touched file makes everything due, but not what is being looked at."""
    answers = threading.Event()
    inside: list[float] = []

    def stuck() -> None:
        inside.append(1)
        answers.wait(LONG_S)

    one = served(tmp_path, "slow", stuck)

    steps = iter(range(1000))

    def touched(times: int) -> bool:
        return next(steps) > times

    class Touches(Until):
        def wait(self, timeout_s: float) -> Wake:
            wake = super().wait(timeout_s)
            return Wake("file") if wake.reason == "time" else wake

    run([one], Touches(lambda: touched(10)), read_now, Notifier({}), Threads([one]))
    assert len(inside) == 1
    answers.set()


class Fed(Notifier):
    """Counts signs of life."""

    def __init__(self) -> None:
        super().__init__({})
        self.fed = 0

    def watchdog(self) -> None:
        self.fed += 1


@pytest.mark.parametrize(("busy_s", "expected"), [(WEDGED_S, 1), (WEDGED_S + 1, 0)])
def test_the_watchdog_is_not_fed_while_a_look_does_not_come_back(
    tmp_path: Path, busy_s: float, expected: int
) -> None:
    """Longer than all deadlines together: systemd begins anew."""
    clock = Clock(seconds=busy_s)
    one = served(tmp_path, "slow")
    one.busy_since_s = 0.0
    notifier = Fed()
    run([one], Until(lambda: True), clock, notifier, Alone())
    assert notifier.fed == expected
