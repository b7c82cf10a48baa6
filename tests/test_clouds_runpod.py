"""Provider `runpod` against a fake of its two APIs, under the key's permissions of its page."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from cloud_machine import AWAY, OnMachine
from cloud_scenarios import Between, CloudScenarios, Forms, more
from fakes.machine import Machine, fails_later, refused
from fakes.policy import pasted_json
from fakes.runpod import FakeRunpod, errors, problem
from fakes.server import Reply
from restarter_world import Clock
from spoteval.provider.contract import Finding, Observation, Price, State
from spoteval.provider.open import check_provider
from spoteval.provider.runpod.provider import runpod_provider
from spoteval.provider.runpod.states import observed
from spoteval.provider.shared import Shared
from spoteval.shape import ShapeError, Table

OUTAGES = (
    *AWAY,
    problem(500),
    Reply(410, "<html>this version is gone</html>"),
    problem(404),
)


def scopes() -> dict[str, str]:
    """Of the page's key."""
    return {name: str(word) for name, word in pasted_json("runpod", "Key").items()}


class RunpodCloud(OnMachine):
    """One pod on demand."""

    says_cause = False  # Runpod's own reasons it does not tell apart
    says_last_start = True

    def __init__(self, fake: FakeRunpod, clock: Clock, machine: Machine) -> None:
        self.fake, self.clock, self.machine = fake, clock, machine
        self.key = fake.key
        self.shared = Shared(secret=lambda _: f"{self.key}\n", clock=clock)
        self.provider = Between(runpod_provider(self.table(), self.shared))

    def table(self, **more: object) -> Table:
        """`[instance.gpu-1]`."""
        own = {"id": "pod-1", "gpus": 1, "identity": "runpod", "endpoint_url": self.fake.url}
        return Table({**own, **more}, "instance.gpu-1")

    def guest_powers_off(self) -> None:
        """A container that ends is started again; its own stop by the API is the only end."""
        self.machine.stop("guest")

    def deletes(self) -> None:
        self.fake.machines.clear()

    def throttles(self) -> None:
        headers = {"RateLimit": '"default";r=0;t=30', "RateLimit-Policy": '"default";q=60;w=60'}
        self.fake.goes_wrong(problem(429, headers=headers))

    def lets_token_expire(self) -> None:
        self.fake.key = self.key = "rpa_two"

    def denies(self) -> None:
        self.fake.goes_wrong(problem(403))

    def is_out(self, way: int) -> None:
        self.fake.goes_wrong(OUTAGES[way % len(OUTAGES)])

    def recovers(self) -> None:
        self.fake.recovers()

    def costs(self, amount: float | None) -> None:
        self.fake.price = amount

    def starts(self) -> int:
        return self.fake.starts()

    def findings(self, **more: object) -> list[Finding]:
        """What `check` would say."""
        return list(check_provider("runpod", self.table(**more), self.shared))


@pytest.fixture
def cloud() -> Iterator[RunpodCloud]:
    """The API."""
    clock = Clock()
    machine = Machine(clock)
    fake = FakeRunpod({"pod-1": machine}, scopes())
    with fake.listening():
        yield RunpodCloud(fake, clock, machine)


class TestRunpod(CloudScenarios):
    """Provider `runpod`."""

    CAPACITY: ClassVar[Forms] = {
        "host-bound": refused("host"),
        "no-instances": refused("none"),
        "vague": refused("vague", 500),
        "never-runs": fails_later(after_s=600.0),
    }
    QUOTA: ClassVar[Forms] = {"balance": refused("balance")}

    def test_a_stop_that_a_person_asked_for_is_held(self, cloud: RunpodCloud, host: Any) -> None:
        """Runpod's own text names the user: the one cause that it tells."""
        cloud.operator_stops()
        assert more(host, 100)[-1] == "held"
        assert cloud.starts() == 0

    def test_complaint_11_a_pod_whose_host_is_full(self, cloud: RunpodCloud, off: Any) -> None:
        """Capacity, bound to its host and said so, at a capped pace; never the loop guard."""
        cloud.machine.weather.starts = [refused("host")]
        words = more(off, 2400)
        assert off.book.state.failures >= 1
        assert "loop-guard" not in words
        assert "advice=host-bound" in off.paths.decisions.read_text()

    def test_complaint_12_an_error_and_then_it_runs(self, cloud: RunpodCloud, off: Any) -> None:
        """Observation decides: the answer is no more than a word."""
        cloud.fake.goes_wrong(
            problem(500, "INTERNAL_SERVER_ERROR"), lambda one: '"start"' in one.body, 1, after=True
        )
        assert more(off, 300)[-1] == "running"
        assert (cloud.starts(), off.book.state.failures) == (1, 0)

    def test_a_start_that_comes_up_without_gpus(self, cloud: RunpodCloud, off: Any) -> None:
        """It never counts as running: at the window's end it is a failure, and the pod is stopped."""
        cloud.fake.has_gpus = False
        more(off, 300)
        assert off.book.state.word == "STARTING"
        words = more(off, 900)
        assert "start-stuck" in words
        assert off.book.state.failures == 1
        assert any('"stop"' in one.body for one in cloud.fake.asked)

    def test_complaint_10_exited_is_not_absent(self, cloud: RunpodCloud, host: Any) -> None:
        """A pod that exited is started; one that is gone is held, and no loop."""
        cloud.preempts()
        more(host, 240)
        assert (host.book.state.word, cloud.starts()) == ("RUNNING", 1)
        cloud.deletes()
        words = more(host, 1200)
        assert (words[-1], cloud.starts()) == ("held", 1)


class TestRunpodWithoutDetails(CloudScenarios):
    """The same where GraphQL may not be used: causes are unknown, decisions are the same, a price is typed."""

    CAPACITY: ClassVar[Forms] = {"host-bound": refused("host")}

    @pytest.fixture
    def cloud(self, cloud: RunpodCloud) -> RunpodCloud:
        cloud.fake.scopes["GraphQL"] = "none"
        day = {"currency": "USD", "per": "hour", "as_of": "2026-11-20"}

        def costs(amount: float | None) -> None:
            typed = {} if amount is None else {"price": {"amount": amount, **day}}
            cloud.provider.inner = runpod_provider(cloud.table(**typed), cloud.shared)

        cloud.costs = costs  # type: ignore[method-assign]
        return cloud


def verdicts(cloud: RunpodCloud, **more: object) -> dict[str, str]:
    """Verdict by right or setting."""
    return {finding.what: finding.verdict for finding in cloud.findings(**more)}


def bid(amount: float) -> dict[str, object]:
    """`bid = { … }`."""
    return {"bid": {"amount": amount, "currency": "USD", "per": "hour"}}


def test_the_pasted_key_is_enough_and_nothing_more(cloud: RunpodCloud) -> None:
    """There is no permission for starting alone, and none for one pod."""
    assert set(verdicts(cloud).values()) == {"ok"}
    assert scopes() == {"REST": "write", "GraphQL": "read"}


@pytest.mark.parametrize(("left", "right"), [("none", "REST: Read"), ("read", "REST: Write")])
def test_a_missing_right_is_named(cloud: RunpodCloud, left: str, right: str) -> None:
    """By its own name; the try changes nothing."""
    cloud.fake.scopes["REST"] = left
    assert verdicts(cloud)[right] == "missing"
    assert cloud.starts() == 0


def test_an_optional_right_is_said_to_lack(cloud: RunpodCloud) -> None:
    """But for a bid, which is made there alone."""
    cloud.fake.scopes["GraphQL"] = "none"
    assert verdicts(cloud)["GraphQL: Read"] == "lacking"
    assert verdicts(cloud, **bid(2.0))["GraphQL: Write"] == "missing"


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [("mounts", {}, "volume"), ("locked", True, "lock"), ("interruptible", True, "bid")],
)
def test_check_names_what_would_lose_the_disk_or_the_start(
    cloud: RunpodCloud, name: str, value: object, what: str
) -> None:
    """Before the first night."""
    setattr(cloud.fake, name, value)
    assert verdicts(cloud)[what] == "missing"


def test_an_interruptible_pod_starts_with_its_bid(cloud: RunpodCloud) -> None:
    """One request to GraphQL; as an on-demand pod it is refused."""
    cloud.fake.interruptible = True
    cloud.fake.scopes["GraphQL"] = "write"
    assert cloud.provider.start(5).detail == "spot-pod-without-bid"
    spot = runpod_provider(cloud.table(**bid(2.0)), cloud.shared)
    assert spot.start(5).ok
    low = runpod_provider(cloud.table(**bid(1.0)), cloud.shared)
    assert (low.start(5).kind, cloud.starts()) == ("price", 3)


def test_a_bid_is_priced_at_what_it_may_cost(cloud: RunpodCloud) -> None:
    """The least that is taken, or what is bid where that is more."""
    for amount, expected in ((1.0, 1.5), (2.0, 2.0)):
        found = runpod_provider(cloud.table(**bid(amount)), cloud.shared).price(5)
        assert isinstance(found, Price)
        assert (found.amount, found.kind) == (expected, "spot")


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (errors("INTERNAL_SERVER_ERROR hunter2"), "unknown"),
        (Reply(200, {"data": {"podBidResume": None}}), "unknown"),
        (Reply(400, {"errors": [{"message": "Something went wrong."}]}), "unknown"),
    ],
)
def test_an_error_with_status_200_is_no_start(cloud: RunpodCloud, reply: Reply, kind: str) -> None:
    """GraphQL's errors lie in the body; nothing of them is quoted."""
    cloud.fake.goes_wrong(reply)
    answer = runpod_provider(cloud.table(**bid(2.0)), cloud.shared).start(5)
    assert (answer.ok, answer.kind) == (False, kind)
    assert "hunter2" not in str(answer)


def test_a_key_is_in_a_header_alone(cloud: RunpodCloud) -> None:
    """In an address it would lie in logs."""
    cloud.provider.observe(5)
    cloud.provider.price(5)
    assert all(cloud.key not in f"{one.path}{one.query}{one.body}" for one in cloud.fake.asked)
    assert cloud.key not in repr(cloud.provider.inner)


def test_an_empty_key_is_refused(cloud: RunpodCloud) -> None:
    """When the provider is opened."""
    with pytest.raises(ShapeError, match="must hold an API key"):
        runpod_provider(cloud.table(), Shared(secret=lambda _: "\n"))


def test_a_pod_that_must_not_be_started_is_unrestartable(cloud: RunpodCloud) -> None:
    """`actions` is what is allowed now."""
    cloud.fake.pinned = False
    seen = cloud.provider.observe(5)
    assert isinstance(seen, Observation)
    assert seen.state is State.UNRESTARTABLE


@pytest.mark.parametrize(
    ("pod", "state"),
    [
        ({"status": "PROVISIONING"}, State.STARTING),
        ({"status": "RUNNING", "gpu": {"count": 8}}, State.RUNNING),
        ({"status": "RUNNING", "gpu": {"count": 7}}, State.STARTING),
        ({"status": "RUNNING", "gpu": {"count": 8}, "runtime": {"gpus": []}}, State.STARTING),
        ({"status": "ERROR"}, State.STOPPED),
        ({"status": "TERMINATED"}, State.GONE),
        ({"status": "exited"}, State.UNKNOWN),
        ({}, State.UNKNOWN),
    ],
)
def test_states(pod: dict[str, Any], state: State) -> None:
    """Words that are new are unknown, and never STOPPED."""
    assert observed(pod, 8, None).state is state


def test_many_are_one_call(cloud: RunpodCloud) -> None:
    """What the list lacks is asked for once more before it is gone."""
    cloud.fake.machines["pod-2"] = Machine(cloud.clock)
    other = runpod_provider(cloud.table(id="pod-2"), cloud.shared)
    cloud.clock.seconds = 10
    assert isinstance(other.observe(5), Observation)
    assert isinstance(cloud.provider.observe(5), Observation)
    assert cloud.fake.count("GET", "/pods") == 1
    del cloud.fake.machines["pod-2"]
    cloud.clock.seconds = 20
    assert getattr(other.observe(5), "kind", None) == "gone"
    assert cloud.fake.count("GET", "/pods/pod-2") == 1
