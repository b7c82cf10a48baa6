"""All instances of one identity: looked at in one call for each thousand."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from spoteval.clock import Now, monotonic_s
from spoteval.provider.batch import Batch
from spoteval.provider.contract import Price, Reply, Unanswered, unanswered
from spoteval.provider.nebius.calculator import estimate_of, price_from
from spoteval.provider.nebius.client import (
    Ask,
    Client,
    batch_of,
    operation_from,
    operations_of,
    refused_by,
    vm_from,
)
from spoteval.provider.nebius.states import Operation, Refused, Vm, refusal, reply_to
from spoteval.shape import Reading, Unreadable

MOST_IDS = 1000


class Account:
    """What the instances of one identity have in common."""

    def __init__(self, client: Client, clock: Callable[[], Now]) -> None:
        self.client, self._clock = client, clock
        self.batch: Batch[Vm] = Batch(self._look, clock)

    def call(self, ask: Ask, deadline_s: float) -> Reply:
        """One start or stop. That it is begun is all that its answer says."""
        answer = self.client.call(ask, deadline_s)
        self.batch.forget()
        if isinstance(answer, Refused):
            return reply_to(answer)
        if isinstance(answer, Unreadable):
            no_token = isinstance(answer, Unanswered) and answer.kind == "auth"
            return Reply(ok=False, kind="auth" if no_token else "unknown", detail=answer.why)
        return reply_to(refused_by(answer.status()))

    def price(self, name: str, deadline_s: float) -> Reading[Price]:
        """Of a VM of this size, by the calculator."""
        until_s = monotonic_s() + deadline_s
        vm = self.batch.look(name, deadline_s)
        if isinstance(vm, Unreadable):
            return vm
        answer = self.client.look(estimate_of(vm), until_s - monotonic_s())
        return answer if isinstance(answer, Unreadable) else price_from(answer, self._clock())

    def operations(self, name: str, deadline_s: float) -> Reading[list[Operation]]:
        """What was asked of the instance lately."""
        answer = self.client.look(operations_of(name), deadline_s)
        if isinstance(answer, Unreadable):
            return answer
        return [operation_from(one) for one in answer.operations]

    def _look(self, ids: tuple[str, ...], deadline_s: float) -> Reading[Mapping[str, Reading[Vm]]]:
        until_s = monotonic_s() + deadline_s
        found: dict[str, Reading[Vm]] = {}
        for first in range(0, len(ids), MOST_IDS):
            some = ids[first : first + MOST_IDS]
            answer = self.client.look(batch_of(some), until_s - monotonic_s())
            if isinstance(answer, Unreadable):
                return answer
            found |= dict(_read(answer.items.items()))
        return found


def _read(items: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, Reading[Vm]]]:
    """An instance that cannot be read has an error in its place."""
    for name, item in items:
        if item.instance is not None:
            yield name, vm_from(item.instance)
        else:
            refused = refused_by(item.error)
            yield name, refusal(refused) if refused else unanswered("unknown", "no instance")
