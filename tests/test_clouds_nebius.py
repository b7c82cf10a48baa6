"""Provider `nebius` against a fake of its gRPC, with the vendor's own client, under the permits of its page."""

import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from cloud_machine import OnMachine, listening, typed_price
from cloud_scenarios import Between, CloudScenarios, Forms
from fakes.machine import Machine, fails_later, refused
from fakes.nebius import REGION, TENANT, Codes, FakeNebius, FakeNebiusMetadata, Wrong
from fakes.policy import pasted_json
from fakes.server import Reply
from restarter_world import Clock
from spoteval.provider.contract import Finding, Observation, Price, State
from spoteval.provider.nebius.capacity import KEPT_S
from spoteval.provider.nebius.provider import nebius_provider
from spoteval.provider.nebius.states import Operation, Vm, observed, stopped_by
from spoteval.provider.open import check_provider, open_provider
from spoteval.provider.shared import Shared
from spoteval.shape import ShapeError, Table, Unreadable

OUTAGES = (
    Wrong(Codes.UNAVAILABLE),
    Wrong(Codes.INTERNAL),
    Wrong(Codes.UNKNOWN),
    Wrong(Codes.OK, garbage=True),
    Wrong(Codes.DEADLINE_EXCEEDED),
)


def permits() -> set[str]:
    """Roles on the project, of the page's permits."""
    return {one["spec"]["role"] for one in pasted_json("nebius", "Permits")}


class NebiusCloud(OnMachine):
    """One preemptible VM in one project."""

    says_cause = False  # Nebius tells no reason of a stop
    says_last_start = False

    def __init__(
        self, fake: FakeNebius, metadata: FakeNebiusMetadata, clock: Clock, machine: Machine
    ) -> None:
        self.fake, self.metadata, self.clock, self.machine = fake, metadata, clock, machine
        self.shared = Shared(clock=clock)
        self.provider = Between(nebius_provider(self.table(3.2), self.shared))

    def table(self, price: float | None, name: str = "gpu-1") -> Table:
        """`[instance.gpu-1]`."""
        values: dict[str, Any] = {
            "id": name,
            "endpoint_url": self.fake.url,
            "metadata_url": self.metadata.url,
            "tenant": TENANT,
            "region": REGION,
            **typed_price(price),
        }
        return Table(values, "instance.gpu-1")

    def deletes(self) -> None:
        self.fake.machines.clear()

    def throttles(self) -> None:
        self.fake.wrong = Wrong(Codes.RESOURCE_EXHAUSTED, detail="too_many_requests")

    def lets_token_expire(self) -> None:
        self.fake.token = self.metadata.token = "v1.two"

    def denies(self) -> None:
        self.fake.wrong = Wrong(Codes.PERMISSION_DENIED)

    def is_out(self, way: int) -> None:
        self.fake.wrong = OUTAGES[way % len(OUTAGES)]

    def recovers(self) -> None:
        self.fake.wrong = None

    def costs(self, amount: float | None) -> None:
        self.fake.hourly = None
        self.provider.inner = nebius_provider(self.table(amount), self.shared)

    def starts(self) -> int:
        return self.fake.starts()

    def findings(self) -> list[Finding]:
        """What `check` would say."""
        return list(check_provider("nebius", self.table(None), Shared(clock=self.clock)))


@pytest.fixture
def cloud() -> Iterator[NebiusCloud]:
    """The API and the metadata service of the restarter host."""
    clock = Clock()
    machine = Machine(clock)
    fake, metadata = FakeNebius({"gpu-1": machine}, permits()), FakeNebiusMetadata()
    with listening(fake, metadata):
        yield NebiusCloud(fake, metadata, clock, machine)


class TestNebius(CloudScenarios):
    """Provider `nebius`."""

    CAPACITY: ClassVar[Forms] = {
        "not-enough-resources": refused("not_enough_resources"),
        "without-a-detail": refused("bare"),
        "operation": fails_later("not_enough_resources"),
        "silently": fails_later(),
    }
    QUOTA: ClassVar[Forms] = {"quota-failure": refused("quota_failure"), "text": refused("text")}

    def test_a_stop_that_somebody_asked_for_is_held(self, cloud: NebiusCloud, host: Any) -> None:
        """Its operation names who: the one cause that Nebius tells."""
        cloud.operator_stops()
        words = host.live(host.clock.seconds + 100)
        assert (words[-1], cloud.starts()) == ("held", 0)
        host.release_all()
        assert host.live(host.clock.seconds + 240)[-1] == "running"

    def test_stopped_for_a_moment_in_its_recovery(self, cloud: NebiusCloud, host: Any) -> None:
        """A crash passes through STOPPED before Nebius starts it again: the grace waits for that."""
        cloud.machine.stop("platform")
        cloud.clock.seconds += 5
        host.cycle(cloud.clock.seconds)
        assert host.book.state.word == "STOPPED"
        cloud.machine.start()
        host.live(host.clock.seconds + 120)
        assert (host.book.state.word, cloud.starts()) == ("RUNNING", 0)


class TestNebiusWithoutDetails(CloudScenarios):
    """The same where operations, permits and advice may not be read: decisions are the same."""

    CAPACITY: ClassVar[Forms] = {"operation": fails_later("not_enough_resources")}

    @pytest.fixture
    def cloud(self, cloud: NebiusCloud) -> NebiusCloud:
        cloud.fake.explains = cloud.fake.tells_permits = False
        cloud.fake.hourly = cloud.fake.room = None
        return cloud


def verdicts(cloud: NebiusCloud) -> dict[str, str]:
    """Verdict by right or setting."""
    return {finding.what: finding.verdict for finding in cloud.findings()}


def test_the_pasted_permits_are_enough_and_nothing_more(cloud: NebiusCloud) -> None:
    """One role, as there is none for starting alone."""
    assert set(verdicts(cloud).values()) == {"ok"}
    assert permits() == {"editor"}


@pytest.mark.parametrize("left", [set(), {"viewer"}])
def test_a_missing_right_is_named(cloud: NebiusCloud, left: set[str]) -> None:
    """By its own name; a role that only looks is not enough."""
    cloud.fake.roles = left
    assert verdicts(cloud)["editor"] == "missing"


def test_an_optional_right_is_said_to_lack(cloud: NebiusCloud) -> None:
    """Permits that cannot be read are not known, and no reason not to go on."""
    cloud.fake.explains = cloud.fake.tells_permits = False
    cloud.fake.hourly = cloud.fake.room = None
    found = verdicts(cloud)
    assert (found["operations"], found["editor"]) == ("lacking", "unknown")
    assert (found["price"], found["capacity advice"]) == ("lacking", "lacking")
    assert "missing" not in found.values()


@pytest.mark.parametrize("policy", ["RECOVER", "ALWAYS"])
def test_check_refuses_a_recovery_policy_that_undoes_a_poweroff(
    cloud: NebiusCloud, policy: str
) -> None:
    """It is the default of the API, and cannot be changed later."""
    cloud.fake.recovery = policy
    (found,) = [one for one in cloud.findings() if one.what == "recovery policy"]
    assert found.verdict == "missing"
    assert f"is {policy}: power off would be restarted and billed" in found.text


def test_check_starts_nothing(cloud: NebiusCloud) -> None:
    """It only looks."""
    cloud.findings()
    assert {method.rpartition("/")[2] for method, _ in cloud.fake.asked} == {
        *("BatchGet", "EstimateBatch", "Get", "List", "ListMemberOf")
    }


def test_a_start_that_may_be_sent_again_is_not(cloud: NebiusCloud) -> None:
    """The detail says so, and the vendor's client would."""
    cloud.machine.weather.starts = [refused("not_enough_resources")]
    reply = cloud.provider.start(5)
    assert (reply.kind, reply.detail, cloud.starts()) == ("capacity", "not_enough_resources", 1)


def test_a_call_that_hangs_ends_at_its_deadline(cloud: NebiusCloud) -> None:
    """A look is a timeout; of a start nobody knows what became of it."""
    cloud.fake.wrong = Wrong(Codes.OK, hangs=True)
    seen = cloud.provider.observe(0.3)
    assert getattr(seen, "kind", None) == "timeout"
    assert cloud.provider.start(0.3).kind == "unknown"
    assert cloud.starts() == 1


def test_no_message_of_the_api_is_quoted(cloud: NebiusCloud) -> None:
    """It may hold what it likes."""
    cloud.machine.weather.starts = [refused("text")]
    assert "hunter2" not in str(cloud.provider.start(5))
    cloud.fake.wrong = Wrong(Codes.PERMISSION_DENIED)
    assert "hunter2" not in str(cloud.provider.observe(5))


def test_operation_details_are_advice(cloud: NebiusCloud) -> None:
    """Why an accepted start came to nothing."""
    cloud.machine.weather.starts = [fails_later("not_enough_resources")]
    assert cloud.provider.start(5).ok
    cloud.clock.seconds += 60
    seen = cloud.provider.observe(5)
    assert isinstance(seen, Observation)
    assert (seen.state, seen.cause, seen.advice) == (State.STOPPED, None, "not_enough_resources")


def test_a_price_that_nobody_typed_is_the_calculators(cloud: NebiusCloud) -> None:
    """For a preemptible VM of its size; other units of time are left alone."""
    provider = nebius_provider(cloud.table(None), cloud.shared)
    cloud.fake.hourly = {"month": "1548.00", "hour": "2.15"}
    price = provider.price(5)
    assert isinstance(price, Price)
    assert (price.amount, price.currency, price.kind) == (2.15, "USD", "list")
    assert price.as_of == cloud.clock().wall


@pytest.mark.parametrize(
    ("hourly", "why"),
    [
        (None, "auth:PERMISSION_DENIED (or set price in [instance.gpu-1])"),
        ({"month": "1548.00"}, "not exactly one for an hour"),
        ({"hour": "2,15"}, "not exactly one for an hour"),
        ({"hour": "nan"}, "none in a currency"),
        ({"hour": "0"}, "none in a currency"),
    ],
)
def test_an_estimate_that_is_none_is_no_price(
    cloud: NebiusCloud, hourly: dict[str, str] | None, why: str
) -> None:
    """Unknown, and not free."""
    cloud.fake.hourly = hourly
    price = nebius_provider(cloud.table(None), cloud.shared).price(5)
    assert isinstance(price, Unreadable)
    assert why in price.why


@pytest.mark.parametrize(
    ("room", "word"),
    [
        ({"fabric-1": "LOW", "fabric-2": "MEDIUM"}, "capacity-medium"),
        ({"fabric-1": "LIMIT_REACHED"}, "capacity-limit-reached"),
        ({"fabric-1": "UNKNOWN"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_advice_is_of_the_vms_own_region(
    cloud: NebiusCloud, room: dict[str, str] | None, word: str | None
) -> None:
    """The best of its fabrics; another region's room is none."""
    cloud.fake.room = room
    cloud.operator_stops()
    cloud.clock.seconds += 60
    seen = cloud.provider.observe(5)
    assert isinstance(seen, Observation)
    assert (seen.state, seen.advice) == (State.STOPPED, word)


def test_advice_is_asked_for_rarely_and_believed_while_it_is_fresh(cloud: NebiusCloud) -> None:
    """At the bound it is asked for anew; a running VM asks for none."""
    cloud.fake.room = {"fabric-1": "LOW"}
    cloud.machine.runs(3600)
    assert isinstance(cloud.provider.observe(5), Observation)
    assert cloud.fake.count("ResourceAdviceService/List") == 0
    cloud.operator_stops()
    told = []
    for cloud.clock.seconds in (60, 60 + KEPT_S - 1, 60 + KEPT_S):
        seen = cloud.provider.observe(5)
        assert isinstance(seen, Observation)
        told.append((seen.advice, cloud.fake.count("ResourceAdviceService/List")))
        cloud.fake.room_is = "STALE"
    assert told == [("capacity-low", 2), ("capacity-low", 2), (None, 4)]


def test_a_tenant_without_a_region_is_refused(cloud: NebiusCloud) -> None:
    """Whose room would it be."""
    table = cloud.table(None)
    own = {key: value for key, value in table.values.items() if key != "region"}
    with pytest.raises(ShapeError, match="region: missing"):
        nebius_provider(Table(own, table.place), Shared())


def test_many_are_one_call(cloud: NebiusCloud) -> None:
    """One that is gone is gone alone; addresses have no mask."""
    cloud.fake.machines["gpu-2"] = Machine(cloud.clock)
    other = nebius_provider(cloud.table(None, "gpu-2"), cloud.shared)
    cloud.clock.seconds = 10
    assert isinstance(other.observe(5), Observation)
    seen = cloud.provider.observe(5)
    assert isinstance(seen, Observation)
    assert seen.addresses == ("198.51.100.7", "10.0.0.7")
    assert cloud.fake.count("/BatchGet") == 1
    del cloud.fake.machines["gpu-2"]
    cloud.clock.seconds = 20
    assert isinstance(cloud.provider.observe(5), Observation)
    assert getattr(other.observe(5), "kind", None) == "gone"


@pytest.mark.parametrize(
    ("value", "state"),
    [
        *((0, State.UNKNOWN), (1, State.STARTING), (2, State.UNKNOWN), (3, State.STARTING)),
        *((4, State.RUNNING), (5, State.STOPPING), (6, State.STOPPED), (7, State.GONE)),
        *((8, State.UNRESTARTABLE), (9, State.UNKNOWN)),
    ],
)
def test_states(value: int, state: State) -> None:
    """Numbers that are new are unknown, and never STOPPED."""
    assert observed(Vm(value), None, None).state is state


def test_a_stop_of_the_platform_is_nobodys(cloud: NebiusCloud) -> None:
    """Only people and service accounts stop on purpose."""
    at = cloud.clock().wall
    assert stopped_by([Operation("x.StopInstanceRequest", at, "useraccount-e00ana")]) is not None
    assert stopped_by([Operation("x.StopInstanceRequest", at, "nebius")]) is None


def test_without_the_vendors_client_it_says_what_to_install(
    cloud: NebiusCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, when the provider is opened."""
    monkeypatch.setitem(sys.modules, "nebius.sdk", None)
    with pytest.raises(ShapeError, match=r'pipx inject spoteval "nebius>=0.6,<0.7"'):
        open_provider("nebius", cloud.table(None), Shared())


def test_no_token_is_known_and_nothing_is_sent(cloud: NebiusCloud) -> None:
    """A host without a service account."""
    cloud.metadata.goes_wrong(Reply(404))
    assert getattr(cloud.provider.observe(5), "kind", None) == "auth"
    assert (cloud.provider.start(5).kind, cloud.fake.asked) == ("auth", [])
