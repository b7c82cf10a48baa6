"""How much room Nebius' capacity advisor sees for a VM: a word for lines, and never a reason not to start.

Source: nebius/capacity/v1/resource_advice_service.proto (github.com/nebius/api).
"""

from collections.abc import Callable, Iterable
from typing import Any

from spoteval.clock import Now, monotonic_s
from spoteval.provider.nebius.client import Ask, Client
from spoteval.provider.nebius.states import Vm
from spoteval.shape import Reading, Unreadable

ASK_S = 3.0
"""It delays a look by no more."""
KEPT_S = 300.0
"""What was told, or that nothing was, is not asked for again so long."""
_MOST_PAGES, _PAGE = 5, 1000
_LEVELS = ("HIGH", "MEDIUM", "LOW", "LIMIT_REACHED")
"""From much room to none; others say nothing."""


class Advisor:
    """The advice of one tenant, shared by all its VMs."""

    def __init__(self, client: Client, tenant: str, clock: Callable[[], Now]) -> None:
        self._client, self._tenant, self._clock = client, tenant, clock
        self._told: tuple[float, Reading[list[Any]]] | None = None

    def word(self, vm: Vm, region: str, deadline_s: float) -> str | None:
        """Such as `capacity-low`; None where it is not told, or is not fresh."""
        found = self.look(deadline_s)
        return None if isinstance(found, Unreadable) else word_of(found, vm, region)

    def look(self, deadline_s: float) -> Reading[list[Any]]:
        """All advice for the tenant, some minutes old at most; a refusal is kept as long."""
        now_s = self._clock().mono_s
        if self._told is None or now_s - self._told[0] >= KEPT_S:
            self._told = now_s, self._all(min(ASK_S, deadline_s))
        return self._told[1]

    def _all(self, deadline_s: float) -> Reading[list[Any]]:
        until_s = monotonic_s() + deadline_s
        found: list[Any] = []
        token = ""
        for _ in range(_MOST_PAGES):
            answer = self._client.look(_page_of(self._tenant, token), until_s - monotonic_s())
            if isinstance(answer, Unreadable):
                return answer
            found += answer.items
            token = str(answer.next_page_token)
            if not token:
                break
        return found


def word_of(items: Iterable[Any], vm: Vm, region: str) -> str | None:
    """The best of the region's fabrics for a VM of this size."""
    levels = {_level(one, vm) for one in items if _fits(one.spec, vm, region)}
    best = next((level for level in _LEVELS if level in levels), None)
    return f"capacity-{best.lower().replace('_', '-')}" if best is not None else None


def _fits(spec: Any, vm: Vm, region: str) -> bool:
    own = spec.compute_instance
    if own is None or str(spec.region) != region:
        return False
    return (str(own.platform), str(own.preset.name)) == (vm.platform, vm.preset)


def _level(item: Any, vm: Vm) -> str:
    room = item.status.preemptible if vm.preemptible else item.status.on_demand
    if not room.data_state.name.endswith("FRESH"):
        return ""
    return str(room.availability_level.name).removeprefix("AVAILABILITY_LEVEL_")


def _page_of(tenant: str, token: str) -> Ask:
    from nebius.api.nebius.capacity.v1 import (
        ListResourceAdviceRequest,
        ResourceAdviceServiceClient,
    )

    request = ListResourceAdviceRequest(parent_id=tenant, page_size=_PAGE, page_token=token)
    return lambda to: ResourceAdviceServiceClient(to.sdk).list(request, **to.options)
