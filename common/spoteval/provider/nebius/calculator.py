"""What an hour of a VM costs by Nebius' own calculator: an estimate by its list, and no market.

Source: nebius/billing/v1/calculator_service.proto (github.com/nebius/api).
"""

import math
from typing import Any

from spoteval.clock import Now
from spoteval.provider.contract import Price
from spoteval.provider.nebius.client import Ask
from spoteval.provider.nebius.states import Vm
from spoteval.shape import Reading, Unreadable

_HOUR = "hour"
_TYPE = "type.googleapis.com/nebius.compute.v1.CreateInstanceRequest"


def estimate_of(vm: Vm) -> Ask:
    """The price of a VM of this size, as if it were made now. Nothing is made."""
    from nebius.api.google.protobuf import Any as Packed
    from nebius.api.nebius.billing.v1 import (
        CalculatorServiceClient,
        EstimateBatchRequest,
        FilterAggregationUnit,
        ResourceSpec,
    )

    value = _as_if_made(vm).SerializeToString()
    hours = FilterAggregationUnit.FilterAggregationUnitValue.FILTER_AGGREGATION_UNIT_HOUR
    request = EstimateBatchRequest(
        resource_specs=[ResourceSpec(spec=Packed(type_url=_TYPE, value=value))],
        filter_aggregation_unit=FilterAggregationUnit(filter_aggregation_unit_values=[hours]),
    )
    return lambda to: CalculatorServiceClient(to.sdk).estimate_batch(request, **to.options)


def price_from(answer: Any, now: Now) -> Reading[Price]:
    """The one cost an hour; Unreadable where there is not exactly one."""
    try:
        costs = [one for one in answer.resource_costs if one.aggregation_unit.unit == _HOUR]
        ((amount, currency),) = {
            (float(one.general.total.cost), str(answer.currency).upper()) for one in costs
        }
    except (ValueError, TypeError, AttributeError):
        return Unreadable("price: Nebius' calculator names not exactly one for an hour")
    if not (math.isfinite(amount) and amount > 0 and len(currency) == 3):
        return Unreadable("price: Nebius' calculator names none in a currency")
    return Price(amount, currency, "hour", "list", now.wall)


def _as_if_made(vm: Vm) -> Any:
    """Size and pricing alone: what else the VM is made of, its user data too, is nobody's business."""
    from nebius.api.nebius.common.v1 import ResourceMetadata
    from nebius.api.nebius.compute.v1 import (
        CreateInstanceRequest,
        FollowsSpotPriceSpec,
        InstanceSpec,
        PreemptibleSpec,
        ResourcesSpec,
    )

    own: dict[str, Any] = {}
    if vm.preemptible:
        own["preemptible"] = PreemptibleSpec()
    if vm.follows_spot_price:
        own["follows_spot_price"] = FollowsSpotPriceSpec()
    size = ResourcesSpec(platform=vm.platform, preset=vm.preset)
    spec = InstanceSpec(resources=size, **own)
    return CreateInstanceRequest(metadata=ResourceMetadata(parent_id=vm.project), spec=spec)
