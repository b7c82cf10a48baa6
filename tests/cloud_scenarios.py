"""What the restarter must live through with every kind of provider: its real cycles, against a cloud on loopback.

A test file of one kind gives the class attributes and the fixture `cloud`, and inherits the class.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Protocol

import pytest

from fakes.machine import GOOD, Machine, goes_on
from restarter_world import Clock, Host
from spoteval.drill.provider import looks, starts_and_stops
from spoteval.event import Event
from spoteval.local.market import StartAnswer, attempts
from spoteval.loop import Wake
from spoteval.provider.contract import Observation, Price, Provider, Reply
from spoteval.shape import Reading

WINDOW_S = 900
Forms = Mapping[str, StartAnswer]


def nothing() -> None:
    """What happens meanwhile unless a test says otherwise."""


@dataclass
class Between:
    """The provider under test, with what the world does before a call reaches it."""

    inner: Provider
    at_price: Callable[[], None] = nothing
    at_call: Callable[[], None] = nothing

    @property
    def cancels(self) -> bool:
        """Its own word."""
        return self.inner.cancels

    def observe(self, deadline_s: float) -> Reading[Observation]:
        """As it says."""
        self.at_call()
        return self.inner.observe(deadline_s)

    def start(self, deadline_s: float) -> Reply:
        """As it says."""
        self.at_call()
        return self.inner.start(deadline_s)

    def stop(self, deadline_s: float) -> Reply:
        """As it says."""
        self.at_call()
        return self.inner.stop(deadline_s)

    def price(self, deadline_s: float) -> Reading[Price]:
        """As it says, after what happens meanwhile."""
        self.at_call()
        self.at_price()
        return self.inner.price(deadline_s)


class Cloud(Protocol):
    """One cloud with one instance, `gpu-1`, as a test moves it."""

    clock: Clock
    machine: Machine
    provider: Between
    restarts_itself: bool  # after a stop of its own, only the cloud starts it again
    says_cause: bool
    says_last_start: bool
    bills_poweroff: bool | None  # what a guest's poweroff costs; None: no word of it

    def preempts(self) -> None:
        """It takes the machine."""

    def has_room(self) -> None:
        """Where it restarts machines itself, it does now."""

    def operator_stops(self) -> None:
        """A person, in its console."""

    def guest_powers_off(self) -> None:
        """`poweroff` on the machine."""

    def deletes(self) -> None:
        """The instance is no more."""

    def throttles(self) -> None:
        """Too many requests, until it recovers."""

    def lets_token_expire(self) -> None:
        """What was good so far is refused; a new one is to be had."""

    def denies(self) -> None:
        """Whatever identity is shown, until it recovers."""

    def is_out(self, way: int) -> None:
        """It fails in one of several ways, until it recovers."""

    def recovers(self) -> None:
        """All is well again."""

    def costs(self, amount: float | None) -> None:
        """An hour; None: nobody can say."""

    def starts(self) -> int:
        """Requests for a start that arrived."""


class CloudScenarios:
    """Inherit; `CAPACITY` and `QUOTA` name every documented way in which a start is refused or fails."""

    CAPACITY: ClassVar[Forms] = {}
    QUOTA: ClassVar[Forms] = {}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test for each form."""
        for name, forms in (("capacity", self.CAPACITY), ("quota", self.QUOTA)):
            if name in metafunc.fixturenames and forms:
                metafunc.parametrize(name, forms.values(), ids=forms.keys())
            elif name in metafunc.fixturenames:
                never = pytest.mark.skip(reason=f"this kind of provider never speaks of {name}")
                metafunc.parametrize(name, [pytest.param(None, marks=never)], ids=["none"])

    @pytest.fixture
    def host(self, cloud: Cloud, tmp_path: Path) -> Host:
        """A restarter host that has seen the instance RUNNING for a while."""
        cloud.machine.runs(3600)
        cloud.costs(3.2)
        host = Host(tmp_path / "host")
        host.clock = cloud.clock
        host.world = replace(host.world, provider=cloud.provider, clock=cloud.clock)
        assert host.live(120) == ["running"]
        return host

    @pytest.fixture
    def off(self, host: Host) -> Host:
        """The same after a stop of its own, free to start again."""
        host.place(ensure_stopped=True, stop_after_s=0)
        more(host, 60)
        assert host.book.state.word == "STOPPED"
        host.release_all()
        return host

    def test_preemption(self, cloud: Cloud, host: Host) -> None:
        """Seen with its cause; started once, or left to the cloud where only that may."""
        cloud.preempts()
        words = more(host, 100)
        if cloud.restarts_itself:
            assert words[-1] == "provider-restarts"
            cloud.has_room()
        assert more(host, 120)[-1] == "running"
        assert cloud.starts() == int(not cloud.restarts_itself)
        stop = one(host, "stopped")
        assert stop.reason == ("preempted" if cloud.says_cause else "unknown")
        if cloud.says_cause:
            assert stop.evidence not in (None, "none")

    def test_no_capacity(self, cloud: Cloud, off: Host, capacity: StartAnswer) -> None:
        """However it is said, it is one start and one failure, when the window closes."""
        cloud.machine.weather.starts = [capacity, GOOD]
        asked_s = asked(off)
        off.live(asked_s + WINDOW_S - 10)
        assert (off.book.state.failures, cloud.starts()) == (0, 1)
        assert off.live(asked_s + WINDOW_S + 60)[-1] == "backoff"
        assert (off.book.state.failures, cloud.starts()) == (1, 1)
        assert off.kinds().count("capacity-failure") == 1
        assert more(off, 300)[-1] == "running"
        assert cloud.starts() == 2

    def test_quota(self, cloud: Cloud, off: Host, quota: StartAnswer) -> None:
        """A refusal that says nothing about room: the backoff does not move."""
        cloud.machine.weather.starts = [quota]
        more(off, 400)
        assert off.book.state.failures == 0
        assert off.kinds().count("capacity-failure") == 0
        assert off.book.state.refusal is not None
        assert off.book.state.refusal.kind == "quota"
        obeys(cloud, off)

    def test_start_error_while_it_goes_on(self, cloud: Cloud, off: Host) -> None:
        """Only RUNNING counts: no second request."""
        cloud.machine.weather.starts = [goes_on("InternalError")]
        assert more(off, 300)[-1] == "running"
        assert cloud.starts() == 1
        assert off.book.state.failures == 0

    def test_preempted_in_starting(self, cloud: Cloud, off: Host) -> None:
        """The window decides, and nothing is started inside it, unless the cloud says that this start is over."""
        cloud.machine.weather.starts = [replace(GOOD, after_s=600.0), GOOD]
        asked(off)
        more(off, 60)
        assert off.book.state.word == "STARTING"
        cloud.preempts()
        more(off, 300)
        if cloud.restarts_itself:
            cloud.has_room()
            assert more(off, 120)[-1] == "running"
            assert cloud.starts() == 1
            return
        if off.kinds().count("stopped") == 1:
            assert (off.book.state.word, cloud.starts()) == ("STOPPED", 1)
        more(off, WINDOW_S)
        assert off.book.state.word == "RUNNING"
        assert cloud.starts() == 2

    def test_cycle_between_two_polls(self, cloud: Cloud, host: Host) -> None:
        """Taken and back before anybody looked: no start, and no life of before is told on where it can be known."""
        cloud.clock.seconds += 20
        cloud.machine.cycled()
        more(host, 120)
        assert cloud.starts() == 0
        assert host.book.state.word == "RUNNING"
        stops = [event for event in host.events() if event.kind == "stopped"]
        assert len(stops) == int(cloud.says_last_start)

    def test_operator_stop(self, cloud: Cloud, host: Host) -> None:
        """Held, where the cloud says who it was; a person's release starts it again."""
        cloud.operator_stops()
        words = more(host, 100)
        if not cloud.says_cause:
            assert cloud.starts() <= 1
            return
        assert (words[-1], cloud.starts()) == ("held", 0)
        assert "stopped-on-purpose" in words
        assert one(host, "stopped").reason == "user"
        host.release_all()
        assert more(host, 240)[-1] == "running"
        assert cloud.starts() == 1

    def test_guest_poweroff(self, cloud: Cloud, host: Host) -> None:
        """Known as the guest's own, and billed only where its cloud bills it."""
        cloud.guest_powers_off()
        more(host, 30)
        seen = cloud.provider.observe(5)
        assert isinstance(seen, Observation)
        assert seen.billed is cloud.bills_poweroff
        if cloud.says_cause:
            assert one(host, "stopped").reason == "guest"
            assert more(host, 200)[-1] == "held"
            assert cloud.starts() == 0
        obeys(cloud, host)

    def test_deletion(self, cloud: Cloud, host: Host) -> None:
        """One answer is no proof; held after several, and nothing is ever started."""
        cloud.deletes()
        more(host, 70)
        assert host.book.state.holds == ()
        words = more(host, 600)
        assert "gone" in words
        assert words[-1] == "held"
        assert cloud.starts() == 0

    def test_throttling(self, cloud: Cloud, off: Host) -> None:
        """Asked more rarely; no counter moves, and it is started when it may be asked again."""
        cloud.throttles()
        more(off, 1500)
        assert attempts(cloud.machine.history) == 0
        assert off.book.state.failures == 0
        cloud.recovers()
        more(off, 1800)
        assert off.book.state.word == "RUNNING"
        assert attempts(cloud.machine.history) == 1
        obeys(cloud, off)

    def test_auth_expiry_and_renewal(self, cloud: Cloud, host: Host) -> None:
        """A token that runs out is renewed unnoticed; an identity that is refused starts nothing, and then goes on."""
        cloud.lets_token_expire()
        assert more(host, 180) == ["running"]
        cloud.denies()
        cloud.preempts()
        more(host, 600)
        assert attempts(cloud.machine.history) == 0
        assert host.book.state.failures == 0
        cloud.recovers()
        cloud.has_room()
        more(host, 1200)
        assert host.book.state.word == "RUNNING"
        obeys(cloud, host)

    def test_100_polls_of_outage(self, cloud: Cloud, host: Host) -> None:
        """No start, no counter, no hold; the first good look goes on from there."""
        before = host.book.state
        cloud.preempts()
        for poll in range(100):
            cloud.recovers()
            cloud.is_out(poll)
            assert host.cycle(cloud.clock.seconds + 60).word == "unknown"
        after = host.book.state
        assert (after.counts, after.failures, after.holds) == (before.counts, 0, ())
        assert (after.starts, cloud.starts()) == (0, 0)
        cloud.recovers()
        cloud.has_room()
        more(host, 300)
        assert host.book.state.word == "RUNNING"

    def test_price_above_the_cap(self, cloud: Cloud, off: Host) -> None:
        """Waits without a backoff, and starts once when it is affordable."""
        cloud.costs(20.0)
        assert more(off, 600)[-1] == "price"
        assert (cloud.starts(), off.book.state.failures) == (0, 0)
        cloud.costs(3.1)
        assert more(off, 180)[-1] == "running"
        assert cloud.starts() == 1

    def test_price_unreadable(self, cloud: Cloud, off: Host) -> None:
        """Under a cap an unknown price is too high."""
        cloud.costs(None)
        assert more(off, 600)[-1] == "price-unknown"
        assert cloud.starts() == 0

    def test_hold_between_decision_and_call(self, cloud: Cloud, off: Host) -> None:
        """Placed while the price was read: nothing goes out."""
        cloud.provider.at_price = lambda: off.place("late-1")
        words = more(off, 300)
        assert words[-1] == "held"
        assert (cloud.starts(), off.book.state.starts) == (0, 0)

    def test_drill_of_the_provider(self, cloud: Cloud, off: Host) -> None:
        """Nothing fails; one start and one stop, and it is off and unbilled at the end."""
        own = (cloud.provider, 900.0, Passing(cloud.clock), cloud.clock)
        found = [*looks(cloud.provider, None, (), cloud.clock), *starts_and_stops(*own)]
        assert [one.line for one in found if one.passed is False] == []
        assert cloud.starts() == 1
        assert "STOPPED and not billed" in [one.what for one in found if one.passed]


@dataclass
class Passing:
    """A wait moves the test's clock."""

    clock: Clock

    def wait(self, timeout_s: float) -> Wake:
        """Over at once."""
        self.clock.seconds += timeout_s
        return Wake("time")


def more(host: Host, seconds: float) -> list[str]:
    """So many seconds more at the restarter's own pace; its decisions, each change once."""
    return host.live(host.clock.seconds + seconds)


def asked(host: Host) -> float:
    """The moment of the start that comes within two minutes."""
    while host.book.state.ask is None:
        more(host, 10)
        assert host.clock.seconds < WINDOW_S
    return host.book.state.ask.at.mono_s


def one(host: Host, kind: str) -> Event:
    """The one event of that kind."""
    found = [event for event in host.events() if event.kind == kind]
    assert len(found) == 1, host.kinds()
    return found[0]


def obeys(cloud: Cloud, host: Host) -> None:
    """Exactly one request for each start that was decided."""
    assert cloud.starts() == host.kinds().count("start-asked")
