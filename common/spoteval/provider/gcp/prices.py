"""What an hour of a VM costs by the public catalogue: cores, memory and GPUs, each by the one row that fits. Pure.

Source: cloud.google.com/billing/docs/reference/rest/v1/services.skus/list, and the wording of its descriptions, such as
`Spot Preemptible A2 Instance Core running in Netherlands`. What does not fit exactly one row has no price.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spoteval.clock import Now, parse_stamp
from spoteval.provider.contract import Price
from spoteval.shape import Reading, Unreadable

Row = Mapping[str, Any]
HOUR, GIB_HOUR = "h", "GiBy.h"
_SPOT = "Spot Preemptible "
_MIB = 1024.0


@dataclass(frozen=True, slots=True)
class Shape:
    """What a VM is made of. `gpus`: count by accelerator type, such as `nvidia-l4`."""

    machine: str
    cores: float
    memory_gib: float
    gpus: Mapping[str, int]
    spot: bool


def shape_of(vm: Mapping[str, Any], machine: Mapping[str, Any]) -> Shape | None:
    """From the VM and its machine type; None where they do not say."""
    gpus: dict[str, int] = {}
    try:
        for one in vm.get("guestAccelerators") or ():
            name = str(one["acceleratorType"]).rpartition("/")[2]
            gpus[name] = gpus.get(name, 0) + int(one["acceleratorCount"])
        for one in () if gpus else machine.get("accelerators") or ():
            gpus[str(one["guestAcceleratorType"])] = int(one["guestAcceleratorCount"])
        return Shape(
            machine=str(machine["name"]),
            cores=float(machine["guestCpus"]),
            memory_gib=float(machine["memoryMb"]) / _MIB,
            gpus=gpus,
            spot=(vm.get("scheduling") or {}).get("provisioningModel") == "SPOT",
        )
    except (KeyError, TypeError, ValueError):
        return None


def own_rows(rows: Iterable[Row], region: str) -> Iterator[Row]:
    """Those of Compute Engine in this region."""
    for row in rows:
        family = (row.get("category") or {}).get("resourceFamily")
        if family == "Compute" and region in (row.get("serviceRegions") or ()):
            yield row


def price_of(shape: Shape, rows: Iterable[Row], now: Now) -> Reading[Price]:
    """The sum of all parts; without disks and addresses, and without what was agreed with one customer."""
    usage = "Preemptible" if shape.spot else "OnDemand"
    kept = [row for row in rows if (row.get("category") or {}).get("usageType") == usage]
    total, since = 0.0, list[datetime]()
    for what, pattern, unit, count in _parts(shape):
        found = [row for row in kept if pattern.match(str(row.get("description")))]
        try:
            ((amount, at),) = {_rate(row, unit) for row in found}
        except (KeyError, IndexError, TypeError, ValueError):
            return Unreadable(f"price: Google's catalogue names not exactly one for {what}")
        total += amount * count
        since.append(at)
    return Price(
        round(total, 6), "USD", "hour", "spot" if shape.spot else "list", _as_of(since, now)
    )


def _parts(shape: Shape) -> Iterator[tuple[str, re.Pattern[str], str, float]]:
    family = re.escape(shape.machine.partition("-")[0])
    head = rf"{_SPOT if shape.spot else ''}{family}( Predefined)? Instance"
    for part, unit, count in (
        ("Core", HOUR, shape.cores),
        ("Ram", GIB_HOUR, shape.memory_gib),
    ):
        yield (
            f"{family} {part}",
            re.compile(rf"{head} {part} running in ", re.IGNORECASE),
            unit,
            count,
        )
    tail = "attached to Spot Preemptible VMs " if shape.spot else ""
    for name, count in sorted(shape.gpus.items()):
        model = " ".join(
            re.escape(word) for word in name.split("-") if word not in ("nvidia", "tesla")
        )
        text = rf"Nvidia (Tesla )?{model} GPU {tail}running in "
        yield name, re.compile(text, re.IGNORECASE), HOUR, count


def _rate(row: Row, unit: str) -> tuple[float, datetime]:
    newest = max(row["pricingInfo"], key=lambda one: str(one.get("effectiveTime")))
    expression = newest["pricingExpression"]
    (rate,) = expression["tieredRates"]
    price = rate["unitPrice"]
    if expression["usageUnit"] != unit or price["currencyCode"] != "USD":
        raise ValueError(unit)
    amount = int(price.get("units") or 0) + int(price.get("nanos") or 0) / 1e9
    return amount, parse_stamp(str(newest["effectiveTime"]))


def _as_of(since: list[datetime], now: Now) -> datetime:
    return min(max(since), now.wall)
