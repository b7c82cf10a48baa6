"""Provider `gcp` against a fake Compute Engine under the role of its page."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from cloud_machine import AWAY, OnMachine, listening, typed_price
from cloud_scenarios import Between, CloudScenarios, Forms
from fakes.gcp import PROJECT, ZONE, FakeGce, FakeGcpMetadata, error
from fakes.machine import Machine, fails_later, refused
from fakes.policy import pasted_json
from restarter_world import Clock
from spoteval.provider.contract import Finding, Observation
from spoteval.provider.gcp.provider import gcp_provider
from spoteval.provider.open import check_provider
from spoteval.provider.shared import Shared
from spoteval.shape import Table

OUTAGES = (
    *AWAY,
    error(500, "backendError"),
)


def permissions() -> set[str]:
    """Of the page's role."""
    found = pasted_json("gcp", "Role")
    return set(found["includedPermissions"])


class GcpCloud(OnMachine):
    """One Spot VM in one zone."""

    says_cause = True
    says_last_start = True

    def __init__(
        self, gce: FakeGce, metadata: FakeGcpMetadata, clock: Clock, machine: Machine
    ) -> None:
        self.gce, self.metadata, self.clock, self.machine = gce, metadata, clock, machine
        self.shared = Shared(clock=clock)
        self.provider = Between(gcp_provider(self.table(3.2), self.shared))

    def table(self, price: float | None) -> Table:
        """`[instance.gpu-1]`."""
        values: dict[str, Any] = {
            "id": "gpu-1",
            "project": PROJECT,
            "zone": ZONE,
            "endpoint_url": self.gce.url,
            "catalog_url": self.gce.url,  # which knows no prices
            "metadata_url": self.metadata.url,
            **typed_price(price),
        }
        return Table(values, "instance.gpu-1")

    def deletes(self) -> None:
        self.gce.machines.clear()

    def throttles(self) -> None:
        self.gce.goes_wrong(error(403, "rateLimitExceeded"))

    def lets_token_expire(self) -> None:
        self.gce.token = self.metadata.token = "ya29.two"

    def denies(self) -> None:
        self.gce.goes_wrong(error(401, "authError"))

    def is_out(self, way: int) -> None:
        self.gce.goes_wrong(OUTAGES[way % len(OUTAGES)])

    def recovers(self) -> None:
        self.gce.recovers()

    def costs(self, amount: float | None) -> None:
        self.provider.inner = gcp_provider(self.table(amount), self.shared)

    def starts(self) -> int:
        return self.gce.starts()

    def findings(self) -> list[Finding]:
        """What `check` would say."""
        return list(check_provider("gcp", self.table(None), Shared(clock=self.clock)))


@pytest.fixture
def cloud() -> Iterator[GcpCloud]:
    """Compute Engine and the metadata server of the restarter host."""
    clock = Clock()
    machine = Machine(clock)
    gce, metadata = FakeGce({"gpu-1": machine}, permissions()), FakeGcpMetadata()
    with listening(gce, metadata):
        yield GcpCloud(gce, metadata, clock, machine)


class TestGcp(CloudScenarios):
    """Provider `gcp`."""

    CAPACITY: ClassVar[Forms] = {
        "refused": refused("ZONE_RESOURCE_POOL_EXHAUSTED", 503),
        "insufficientCapacity": refused("insufficientCapacity", 400),
        "operation": fails_later("ZONE_RESOURCE_POOL_EXHAUSTED"),
        "operation-with-details": fails_later("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"),
        "operation-unsupported": fails_later("UNSUPPORTED_OPERATION"),
    }
    QUOTA: ClassVar[Forms] = {"quotaExceeded": refused("quotaExceeded", 403)}

    def test_operation_details_are_advice(self, cloud: GcpCloud) -> None:
        """Why an accepted start came to nothing stands in the line, where that may be read."""
        for right, advice in ((True, "ZONE_RESOURCE_POOL_EXHAUSTED"), (False, None)):
            if not right:
                cloud.gce.permissions -= {"compute.zoneOperations.get"}
            cloud.machine.weather.starts = [fails_later("ZONE_RESOURCE_POOL_EXHAUSTED")]
            assert cloud.provider.start(5).ok
            cloud.clock.seconds += 60
            seen = cloud.provider.observe(5)
            assert isinstance(seen, Observation)
            assert (seen.state, seen.advice) == ("STOPPED", advice)
            cloud.costs(3.2)


class TestGcpWithoutDetails(CloudScenarios):
    """The same without the optional rights: causes are unknown, decisions are the same."""

    CAPACITY: ClassVar[Forms] = {"operation": fails_later("ZONE_RESOURCE_POOL_EXHAUSTED")}

    @pytest.fixture
    def cloud(self, cloud: GcpCloud) -> GcpCloud:
        cloud.gce.permissions -= {
            "compute.zoneOperations.get",
            "compute.zoneOperations.list",
            "compute.instances.list",
            "compute.machineTypes.get",
        }
        cloud.says_cause = False
        return cloud


def verdicts(cloud: GcpCloud) -> dict[str, str]:
    """Verdict by right or setting."""
    return {finding.what: finding.verdict for finding in cloud.findings()}


REQUIRED = ("compute.instances.get", "compute.instances.start", "compute.instances.stop")
OPTIONAL = ("compute.instances.list", "compute.zoneOperations.list", "compute.machineTypes.get")


def test_the_pasted_role_is_enough_and_nothing_more(cloud: GcpCloud) -> None:
    """Every permission of it is used, and none is missing."""
    found = verdicts(cloud)
    assert not {"missing", "lacking"} & set(found.values())
    assert permissions() == {*REQUIRED, *OPTIONAL, "compute.zoneOperations.get"}


@pytest.mark.parametrize("right", REQUIRED)
def test_a_missing_right_is_named(cloud: GcpCloud, right: str) -> None:
    """By its own name."""
    cloud.gce.permissions -= {right}
    assert verdicts(cloud)[right] == "missing"


@pytest.mark.parametrize("right", OPTIONAL)
def test_an_optional_right_is_said_to_lack(cloud: GcpCloud, right: str) -> None:
    """And is no reason not to go on."""
    cloud.gce.permissions -= {right}
    found = verdicts(cloud)
    assert found[right] == "lacking"
    assert "missing" not in found.values()


def test_check_refuses_a_vm_that_is_deleted_when_it_is_taken(cloud: GcpCloud) -> None:
    """STOP, or there is nothing to restart."""
    cloud.gce.recovery = "DELETE"
    assert verdicts(cloud)["termination action"] == "missing"


def test_a_zone_that_may_not_be_listed_is_looked_at_one_by_one(cloud: GcpCloud) -> None:
    """Refused once, and not tried again; the VM that is gone is gone alone."""
    cloud.gce.machines["gpu-2"] = Machine(cloud.clock)
    table = Table({**cloud.table(None).values, "id": "gpu-2"}, "instance.gpu-2")
    other = gcp_provider(table, cloud.shared)
    assert isinstance(other.observe(5), Observation)
    assert cloud.gce.count("GET", "/instances") == 1
    cloud.gce.permissions -= {"compute.instances.list"}
    for seconds in (10, 20):
        cloud.clock.seconds = seconds
        assert isinstance(other.observe(5), Observation)
        assert isinstance(cloud.provider.observe(5), Observation)
    assert cloud.gce.count("GET", "/instances") == 2
    del cloud.gce.machines["gpu-2"]
    cloud.clock.seconds = 30
    assert isinstance(cloud.provider.observe(5), Observation)
    assert getattr(other.observe(5), "kind", None) == "gone"
