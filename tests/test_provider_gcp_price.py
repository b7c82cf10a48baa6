"""The price of a VM of Compute Engine as the sum of its parts in Google's catalogue."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import pytest

from fakes.gcp import PROJECT, ZONE, FakeGce, FakeGcpMetadata, error
from fakes.machine import Machine
from fakes.server import Asked, FakeServer, Reply
from restarter_world import Clock
from spoteval.provider.contract import Price
from spoteval.provider.gcp.prices import Shape, price_of, shape_of
from spoteval.provider.gcp.provider import gcp_provider
from spoteval.provider.shared import Shared
from spoteval.shape import Reading, Table, Unreadable

REGION = ZONE.rpartition("-")[0]
SHAPE = Shape("a2-highgpu-2g", 24, 170, {"nvidia-tesla-a100": 2}, spot=True)


def row(text: str, amount: float, unit: str = "h", usage: str = "Preemptible") -> dict[str, Any]:
    """One SKU."""
    price = {"currencyCode": "USD", "units": str(int(amount)), "nanos": round(amount % 1 * 1e9)}
    rate = {"startUsageAmount": 0, "unitPrice": price}
    expression = {"usageUnit": unit, "tieredRates": [rate]}
    return {
        "description": text,
        "category": {"resourceFamily": "Compute", "usageType": usage},
        "serviceRegions": [REGION],
        "pricingInfo": [{"effectiveTime": "2026-11-01T00:00:00Z", "pricingExpression": expression}],
    }


CORE = row("Spot Preemptible A2 Instance Core running in Netherlands", 0.01)
RAM = row("Spot Preemptible A2 Instance Ram running in Netherlands", 0.002, "GiBy.h")
GPU = row("Nvidia Tesla A100 GPU attached to Spot Preemptible VMs running in Netherlands", 1.1)
OTHERS = [
    row("Spot Preemptible A2 Custom Instance Core running in Netherlands", 9),
    row("Spot Preemptible A3 Instance Core running in Netherlands", 9),
    row("A2 Instance Core running in Netherlands", 0.03, usage="OnDemand"),
    row("A2 Instance Ram running in Netherlands", 0.004, "GiBy.h", "OnDemand"),
    row("Nvidia Tesla A100 GPU running in Netherlands", 2.9, usage="OnDemand"),
    row("Nvidia Tesla A100 80GB GPU attached to Spot Preemptible VMs running in Netherlands", 9),
]
ROWS = [CORE, RAM, GPU, *OTHERS]


def test_a_price_is_the_sum_of_its_parts() -> None:
    """Each by the one row of its own; a Spot VM by those of Spot VMs."""
    found = price_of(SHAPE, ROWS, Clock()())
    assert isinstance(found, Price)
    assert found.amount == pytest.approx(24 * 0.01 + 170 * 0.002 + 2 * 1.1)
    assert (found.currency, found.per, found.kind) == ("USD", "hour", "spot")
    assert found.as_of.isoformat() == "2026-11-01T00:00:00+00:00"
    ordinary = price_of(replace(SHAPE, spot=False), ROWS, Clock()())
    assert isinstance(ordinary, Price)
    assert ordinary.amount == pytest.approx(24 * 0.03 + 170 * 0.004 + 2 * 2.9)
    assert ordinary.kind == "list"


@pytest.mark.parametrize(
    "rows",
    [
        [CORE, RAM],  # no row of the GPU
        [*ROWS, row("Spot Preemptible A2 Instance Core running in Netherlands", 0.02)],
        [row(CORE["description"], 0.01, "min"), RAM, GPU],
        [{**CORE, "pricingInfo": []}, RAM, GPU],
        [{"description": 5}, RAM, GPU],
        [],
    ],
)
def test_what_does_not_fit_one_row_has_no_price(rows: list[dict[str, Any]]) -> None:
    """Under a cap an unknown price is too high; a wrong one would be a bill (complaint 32)."""
    assert isinstance(price_of(SHAPE, rows, Clock()()), Unreadable)


def test_what_a_vm_is_made_of() -> None:
    """GPUs by the VM where it says so, else by its machine type; memory in GiB."""
    machine = {
        "name": "a2-highgpu-2g",
        "guestCpus": 24,
        "memoryMb": 174080,
        "accelerators": [{"guestAcceleratorType": "nvidia-tesla-a100", "guestAcceleratorCount": 2}],
    }
    spot = {"scheduling": {"provisioningModel": "SPOT"}}
    assert shape_of(spot, machine) == SHAPE
    own = {"acceleratorType": "https://x/acceleratorTypes/nvidia-l4", "acceleratorCount": 1}
    found = shape_of({"guestAccelerators": [own]}, machine)
    assert found is not None
    assert (found.gpus, found.spot) == ({"nvidia-l4": 1}, False)
    assert shape_of(spot, {"name": "x"}) is None


class Catalogue(FakeServer):
    """The rows in two pages."""

    def handle(self, asked: Asked) -> Reply:
        if asked.headers.get("authorization") != "Bearer ya29.one":
            return error(401, "authError")
        if "pageToken" in asked.query:
            return Reply(200, {"skus": ROWS[2:]})
        return Reply(200, {"skus": ROWS[:2], "nextPageToken": "more"})


@dataclass
class Cloud:
    """One VM, its zone and the catalogue."""

    gce: FakeGce
    catalogue: Catalogue
    clock: Clock
    table: Table

    def price(self, shared: Shared) -> Reading[Price]:
        """Of a provider that has just been opened."""
        return gcp_provider(self.table, shared).price(5)


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    """A running Spot VM with two GPUs."""
    clock = Clock()
    machine = Machine(clock)
    machine.runs()
    rights = {"compute.instances.get", "compute.machineTypes.get"}
    gce, metadata = FakeGce({"gpu-1": machine}, rights), FakeGcpMetadata()
    catalogue = Catalogue()
    with ExitStack() as stack:
        for fake in (gce, metadata, catalogue):
            stack.enter_context(fake.listening())
        values = {
            "id": "gpu-1",
            "project": PROJECT,
            "zone": ZONE,
            "endpoint_url": gce.url,
            "metadata_url": metadata.url,
            "catalog_url": catalogue.url,
        }
        yield Cloud(gce, catalogue, clock, Table(values, "instance.gpu-1"))


def test_the_catalogue_is_read_once_a_day(cloud: Cloud) -> None:
    """For all VMs of a region; at equal and one before."""
    shared = Shared(clock=cloud.clock)
    first = cloud.price(shared)
    assert isinstance(first, Price)
    assert first.amount == pytest.approx(2.78)
    cloud.clock.seconds = 86_399
    assert cloud.price(shared) == first
    assert len(cloud.catalogue.asked) == 2
    cloud.clock.seconds = 86_400
    assert isinstance(cloud.price(shared), Price)
    assert len(cloud.catalogue.asked) == 4


def test_a_catalogue_that_is_refused_is_left_alone_for_a_while(cloud: Cloud) -> None:
    """It is thousands of rows: not at each poll."""
    shared = Shared(clock=cloud.clock)
    cloud.catalogue.goes_wrong(error(403, "forbidden"))
    for seconds in (0, 599):
        cloud.clock.seconds = seconds
        assert isinstance(cloud.price(shared), Unreadable)
    assert len(cloud.catalogue.asked) == 1
    cloud.catalogue.recovers()
    cloud.clock.seconds = 600
    assert isinstance(cloud.price(shared), Price)


def test_without_the_right_to_its_machine_type_there_is_no_price(cloud: Cloud) -> None:
    """And what was typed goes before."""
    cloud.gce.permissions -= {"compute.machineTypes.get"}
    shared = Shared(clock=cloud.clock)
    assert isinstance(cloud.price(shared), Unreadable)
    day = {"currency": "USD", "per": "hour", "as_of": "2026-11-20"}
    cloud.table = Table({**cloud.table.values, "price": {"amount": 9.8, **day}}, cloud.table.place)
    found = cloud.price(shared)
    assert isinstance(found, Price)
    assert (found.amount, found.kind, len(cloud.catalogue.asked)) == (9.8, "configured", 0)
