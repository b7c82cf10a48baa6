"""Provider `azure` against a fake Resource Manager under the role of its page."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from cloud_machine import AWAY, OnMachine, listening
from cloud_scenarios import Between, CloudScenarios, Forms
from fakes.azure import FakeArm, FakeAzureMetadata, error, vm_id
from fakes.machine import GOOD, Machine, fails_later, refused
from fakes.policy import pasted_json
from fakes.server import Reply
from restarter_world import Clock
from spoteval.provider.azure.provider import azure_provider
from spoteval.provider.contract import Finding, Observation, State
from spoteval.provider.open import check_provider
from spoteval.provider.shared import Shared
from spoteval.shape import Table, Unreadable

OUTAGES = (
    *AWAY,
    error(500, "InternalServerError"),
)


def actions() -> set[str]:
    """Of the page's role."""
    found = pasted_json("azure", "Role")
    return set(found["Actions"])


class AzureCloud(OnMachine):
    """One Spot VM in one group."""

    says_cause = True
    says_last_start = False
    bills_poweroff = True

    def __init__(
        self, arm: FakeArm, metadata: FakeAzureMetadata, clock: Clock, machine: Machine
    ) -> None:
        self.arm, self.metadata, self.clock, self.machine = arm, metadata, clock, machine
        self.shared = Shared(clock=clock)
        self.provider = Between(azure_provider(self.table(), self.shared))

    def table(self, name: str = "gpu-1") -> Table:
        """`[instance.gpu-1]`."""
        values: dict[str, Any] = {
            "id": vm_id(name),
            "endpoint_url": self.arm.url,
            "prices_url": self.arm.url,
            "metadata_url": self.metadata.url,
        }
        return Table(values, f"instance.{name}")

    def deletes(self) -> None:
        self.arm.machines.clear()

    def throttles(self) -> None:
        self.arm.goes_wrong(error(429, "TooManyRequests", headers={"Retry-After": "30"}))

    def lets_token_expire(self) -> None:
        self.arm.token = self.metadata.token = "eyJ.two"

    def denies(self) -> None:
        self.arm.goes_wrong(error(403, "AuthorizationFailed"))

    def is_out(self, way: int) -> None:
        self.arm.goes_wrong(OUTAGES[way % len(OUTAGES)])

    def recovers(self) -> None:
        self.arm.recovers()

    def costs(self, amount: float | None) -> None:
        self.arm.price = amount

    def starts(self) -> int:
        return self.arm.starts()

    def findings(self) -> list[Finding]:
        """What `check` would say."""
        return list(check_provider("azure", self.table(), Shared(clock=self.clock)))


@pytest.fixture
def cloud() -> Iterator[AzureCloud]:
    """Resource Manager and the metadata service of the restarter host."""
    clock = Clock()
    machine = Machine(clock)
    arm, metadata = FakeArm({"gpu-1": machine}, actions()), FakeAzureMetadata()
    with listening(arm, metadata):
        yield AzureCloud(arm, metadata, clock, machine)


class TestAzure(CloudScenarios):
    """Provider `azure`."""

    CAPACITY: ClassVar[Forms] = {
        **{
            code: refused(code, 409)
            for code in (
                "SkuNotAvailable",
                "AllocationFailed",
                "ZonalAllocationFailed",
                "OverconstrainedAllocationRequest",
                "OverconstrainedZonalAllocationRequest",
            )
        },
        "nested": refused("ResourceDeploymentFailure/AllocationFailed", 409),
        "operation": fails_later("AllocationFailed"),
        "operation-nested": fails_later("ResourceOperationFailure/ZonalAllocationFailed"),
    }
    QUOTA: ClassVar[Forms] = {
        "QuotaExceeded": refused("QuotaExceeded", 409),
        "OperationNotAllowed": refused("OperationNotAllowed", 400),
    }

    def test_a_poweroff_that_is_billed_is_stopped_under_its_hold(
        self, cloud: AzureCloud, off: Any
    ) -> None:
        """The restarter as the backstop: one deallocate, then it costs nothing."""
        cloud.machine.runs()
        off.live(off.clock.seconds + 60)
        off.place("idle-1", ensure_stopped=True, stop_after_s=60)
        cloud.guest_powers_off()
        off.live(off.clock.seconds + 240)
        seen = cloud.provider.observe(5)
        assert isinstance(seen, Observation)
        assert (seen.state, seen.billed) == (State.STOPPED, False)
        assert cloud.starts() == 0

    def test_stopped_for_a_moment_in_its_start(self, cloud: AzureCloud, off: Any) -> None:
        """The cloud shows it stopped once more while it starts: no second request."""
        cloud.machine.weather.starts = [GOOD]
        cloud.machine.flicker = (8.0, 19.0)
        off.live(off.clock.seconds + 200)
        assert (off.book.state.word, cloud.starts()) == ("RUNNING", 1)

    def test_operation_details_are_advice(self, cloud: AzureCloud) -> None:
        """The innermost code of a start that was accepted and failed."""
        cloud.machine.weather.starts = [fails_later("ResourceOperationFailure/AllocationFailed")]
        assert cloud.provider.start(5).ok
        cloud.clock.seconds += 60
        seen = cloud.provider.observe(5)
        assert isinstance(seen, Observation)
        assert (seen.state, seen.advice) == (State.STOPPED, "AllocationFailed")


class TestAzureWithoutDetails(CloudScenarios):
    """The same where health and operations may not be read: causes are unknown, decisions are the same."""

    CAPACITY: ClassVar[Forms] = {"operation": fails_later("AllocationFailed")}

    @pytest.fixture
    def cloud(self, cloud: AzureCloud) -> AzureCloud:
        cloud.arm.explains = False
        cloud.arm.actions -= {"Microsoft.Compute/locations/operations/read"}
        cloud.says_cause = False
        return cloud


def verdicts(cloud: AzureCloud) -> dict[str, str]:
    """Verdict by right or setting."""
    return {finding.what: finding.verdict for finding in cloud.findings()}


VM = "Microsoft.Compute/virtualMachines"
REQUIRED = (
    f"{VM}/read",
    f"{VM}/instanceView/read",
    f"{VM}/start/action",
    f"{VM}/deallocate/action",
)
OPTIONAL = "Microsoft.Compute/locations/operations/read"


def test_the_pasted_role_is_enough_and_nothing_more(cloud: AzureCloud) -> None:
    """None is missing, and there is no other in it."""
    found = verdicts(cloud)
    assert not {"missing", "lacking"} & set(found.values())
    assert actions() == {*REQUIRED, OPTIONAL}


@pytest.mark.parametrize("right", REQUIRED)
def test_a_missing_right_is_named(cloud: AzureCloud, right: str) -> None:
    """By its own name."""
    cloud.arm.actions -= {right}
    assert verdicts(cloud)[right] == "missing"


def test_an_optional_right_is_said_to_lack(cloud: AzureCloud) -> None:
    """And is no reason not to go on."""
    cloud.arm.actions -= {OPTIONAL}
    cloud.arm.explains = False
    found = verdicts(cloud)
    assert (found[OPTIONAL], found["resource health"]) == ("lacking", "lacking")
    assert "missing" not in found.values()


def test_check_refuses_a_vm_that_is_deleted_when_it_is_evicted(cloud: AzureCloud) -> None:
    """Deallocate, or there is nothing to restart."""
    cloud.arm.eviction = "Delete"
    assert verdicts(cloud)["eviction policy"] == "missing"


def test_a_vm_without_a_power_state_is_not_stopped(cloud: AzureCloud) -> None:
    """Rare, and no end."""
    cloud.arm.has_power = False
    seen = cloud.provider.observe(5)
    assert isinstance(seen, Observation)
    assert seen.state is State.UNKNOWN


@pytest.mark.parametrize("may", [True, False])
def test_many_are_looked_at_together_where_that_is_allowed(cloud: AzureCloud, may: bool) -> None:
    """Else one by one."""
    cloud.arm.whole_subscription = may
    cloud.arm.machines["gpu-2"] = Machine(cloud.clock)
    other = azure_provider(cloud.table("gpu-2"), cloud.shared)
    for seconds in (10, 20):
        cloud.clock.seconds = seconds
        assert isinstance(other.observe(5), Observation)
        assert isinstance(cloud.provider.observe(5), Observation)
    lists = cloud.arm.count("GET", "/virtualMachines")
    singles = cloud.arm.count("GET", "/gpu-1") + cloud.arm.count("GET", "/gpu-2")
    assert (lists, singles) == ((2, 0) if may else (1, 4))


def test_a_price_refusal_is_none_of_capacity(cloud: AzureCloud) -> None:
    """The VM's own maximum is below the market."""
    cloud.machine.weather.starts = [refused("SpotPriceGreaterThanProvidedMaxPrice", 409)]
    assert cloud.provider.start(5).kind == "price"


def test_complaint_32_two_prices_are_none(cloud: AzureCloud) -> None:
    """Rows that differ cannot be told apart."""
    body = cloud.arm._prices().body
    assert isinstance(body, dict)
    row = next(one for one in body["Items"] if one["skuName"].endswith("Spot"))
    body["Items"].append(row | {"retailPrice": 9.9})
    cloud.arm.goes_wrong(Reply(200, body), lambda asked: asked.path == "/api/retail/prices")
    assert isinstance(cloud.provider.price(5), Unreadable)
