"""All VMs of one subscription and identity: looked at together where the identity may read it, else one by one."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from spoteval.clock import Now, monotonic_s
from spoteval.provider.azure.states import codes_in, refusal, reply_of
from spoteval.provider.batch import Batch
from spoteval.provider.cloud_call import Caller
from spoteval.provider.contract import Reply, Unanswered, unanswered
from spoteval.provider.http import Answer, Api, Request
from spoteval.provider.token import Bearer
from spoteval.shape import Reading, Unreadable

Vm = Mapping[str, Any]
VERSION = "2024-07-01"
_GRAPH = "/providers/Microsoft.ResourceGraph/resources"
_QUERY = (
    "HealthResources | where type =~ 'microsoft.resourcehealth/resourceannotations'"
    " | where tostring(properties.targetResourceId) =~ '{id}'"
    " | project annotationName=tostring(properties.annotationName),"
    " targetResourceId=tostring(properties.targetResourceId),"
    " occurrenceTime=tostring(properties.occurrenceTime)"
)
_PATIENT = ("gone", "auth")


class Arm:
    """What the instances of one subscription have in common."""

    def __init__(
        self, api: Api, bearer: Bearer[str], subscription: str, clock: Callable[[], Now]
    ) -> None:
        self._caller = Caller(api, bearer, refusal)
        self._subscription = subscription
        self._may_list = True
        self.batch: Batch[Vm] = Batch(self._look, clock)

    def call(self, vm: str, verb: str, deadline_s: float) -> tuple[Reply, str | None]:
        """A `start` or `deallocate`, and where its operation is told of."""
        operation: list[str | None] = [None]

        def understood(answer: Answer) -> Reply:
            operation[0] = answer.headers.get("Azure-AsyncOperation") if answer.ok else None
            return reply_of(answer)

        request = Request("POST", f"{vm}/{verb}", {"api-version": VERSION})
        reply = self._caller.call(request, understood, deadline_s)
        self.batch.forget()
        return reply, operation[0]

    def vm(self, vm: str, deadline_s: float) -> Reading[Vm]:
        """The VM with its instance view."""
        query = {"$expand": "instanceView", "api-version": VERSION}
        answer = self._caller.look(Request("GET", vm, query), deadline_s)
        if isinstance(answer, Unreadable):
            return answer
        return answer.body if isinstance(answer.body, dict) else unanswered("unknown", "no VM")

    def failed_with(self, operation: str, deadline_s: float) -> Reading[str | None]:
        """Why an operation failed: the innermost code; None while it goes on, and where it did not."""
        answer = self._caller.look(Request("GET", operation), deadline_s)
        if isinstance(answer, Unreadable):
            return answer
        body = answer.body if isinstance(answer.body, dict) else {}
        if body.get("status") != "Failed":
            return None
        return next(reversed(list(codes_in(body.get("error"), 6))), "Failed")

    def annotation(self, vm: str, deadline_s: float) -> Reading[str | None]:
        """What the platform's health service says happened to the VM last."""
        body = {"subscriptions": [self._subscription], "query": _QUERY.format(id=vm)}
        request = Request("POST", _GRAPH, {"api-version": "2022-10-01"}, body)
        answer = self._caller.look(request, deadline_s)
        if isinstance(answer, Unreadable):
            return answer
        rows = answer.body.get("data") if isinstance(answer.body, dict) else None
        own = [one for one in rows or () if str(one.get("targetResourceId")).lower() == vm.lower()]
        newest = max(own, key=lambda one: str(one.get("occurrenceTime")), default=None)
        return str(newest["annotationName"]) if newest is not None else None

    def permissions(self, vm: str, deadline_s: float) -> Reading[list[Mapping[str, Any]]]:
        """What the identity may do with the VM, role by role."""
        path = f"{vm}/providers/Microsoft.Authorization/permissions"
        answer = self._caller.look(Request("GET", path, {"api-version": "2022-04-01"}), deadline_s)
        if isinstance(answer, Unreadable):
            return answer
        rows = answer.body.get("value") if isinstance(answer.body, dict) else None
        return [one for one in rows or () if isinstance(one, dict)]

    def _look(self, ids: tuple[str, ...], deadline_s: float) -> Reading[Mapping[str, Reading[Vm]]]:
        until_s = monotonic_s() + deadline_s
        if len(ids) > 1 and self._may_list:
            found = self._listed(ids, until_s)
            if not (isinstance(found, Unanswered) and found.kind == "auth"):
                return found
            self._may_list = False
        each: dict[str, Reading[Vm]] = {}
        for one in ids:
            each[one] = seen = self.vm(one, until_s - monotonic_s())
            if isinstance(seen, Unanswered) and seen.kind not in _PATIENT:
                return seen
        return each

    def _listed(self, ids: Iterable[str], until_s: float) -> Reading[Mapping[str, Reading[Vm]]]:
        """Names of resources differ in case between calls."""
        found: dict[str, Vm] = {}
        path = f"/subscriptions/{self._subscription}/providers/Microsoft.Compute/virtualMachines"
        request = Request("GET", path, {"statusOnly": "true", "api-version": VERSION})
        while True:
            answer = self._caller.look(request, until_s - monotonic_s())
            if isinstance(answer, Unreadable):
                return answer
            body = answer.body if isinstance(answer.body, dict) else {}
            rows = body.get("value")
            if not isinstance(rows, list):
                return unanswered("unknown", "no list of VMs")
            found |= {str(one.get("id")).lower(): one for one in rows if isinstance(one, dict)}
            more = body.get("nextLink")
            if not isinstance(more, str) or not more:
                return {one: found[one.lower()] for one in ids if one.lower() in found}
            request = Request("GET", more)
