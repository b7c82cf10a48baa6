"""All VMs of one zone and identity: looked at together where the identity may list, else one by one."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from spoteval.clock import Now, monotonic_s
from spoteval.provider.batch import Batch
from spoteval.provider.cloud_call import Caller
from spoteval.provider.contract import Reply, Unanswered, unanswered
from spoteval.provider.gcp.states import code_in, failed_with, last_stop, refusal, reply_of
from spoteval.provider.http import Answer, Api, Request
from spoteval.provider.token import Bearer
from spoteval.shape import Reading, Unreadable

Vm = Mapping[str, Any]
_FIELDS = (
    "name,status,lastStartTimestamp,lastStopTimestamp,scheduling,metadata/items,machineType,"
    "guestAccelerators,"
    "networkInterfaces(networkIP,accessConfigs(natIP))"
)
_PAGE = 500
_STOP_PAGE = "20"


class Zone:
    """What the instances of one zone have in common."""

    def __init__(self, api: Api, bearer: Bearer[str], place: str, clock: Callable[[], Now]) -> None:
        """`place`: `projects/P/zones/Z`."""
        self._caller = Caller(api, bearer, refusal)
        self._place = place
        self._may_list = True
        self.batch: Batch[Vm] = Batch(self._look, clock)

    def call(self, name: str, verb: str, deadline_s: float) -> tuple[Reply, str | None]:
        """A start or stop, and the name of its operation."""
        operation: list[str | None] = [None]

        def understood(answer: Answer) -> Reply:
            if answer.ok and isinstance(answer.body, dict):
                operation[0] = code_in(str(answer.body.get("name", "")).replace("-", "_"))
                operation[0] = str(answer.body["name"]) if operation[0] is not None else None
            return reply_of(answer)

        request = Request("POST", self.path(f"instances/{name}/{verb}"))
        reply = self._caller.call(request, understood, deadline_s)
        self.batch.forget()
        return reply, operation[0]

    def last_stop(self, name: str, deadline_s: float) -> Reading[str | None]:
        """What stopped this VM last. Such operations are listed for some days."""
        target = f"https://www.googleapis.com/compute/v1/{self._place}/instances/{name}"
        query = {
            "filter": f'(targetLink="{target}")',
            "orderBy": "creationTimestamp desc",
            "maxResults": _STOP_PAGE,
        }
        answer = self._caller.look(Request("GET", self.path("operations"), query), deadline_s)
        return answer if isinstance(answer, Unreadable) else last_stop(_items(answer))

    def failed_with(self, operation: str, deadline_s: float) -> Reading[str | None]:
        """Why an operation failed; None while it goes on, and where it did not."""
        answer = self._caller.look(Request("GET", self.path(f"operations/{operation}")), deadline_s)
        return answer if isinstance(answer, Unreadable) else failed_with(_table(answer))

    def machine_type(self, vm: Vm, deadline_s: float) -> Reading[Mapping[str, Any]]:
        """What its machine type is made of. One more right, and optional."""
        name = str(vm.get("machineType", "")).rpartition("/")[2]
        answer = self._caller.look(Request("GET", self.path(f"machineTypes/{name}")), deadline_s)
        return answer if isinstance(answer, Unreadable) else _table(answer)

    def allowed(self, name: str, wanted: list[str], deadline_s: float) -> Reading[frozenset[str]]:
        """Which of these permissions the identity has on this VM."""
        request = Request(
            "POST", self.path(f"instances/{name}/testIamPermissions"), body={"permissions": wanted}
        )
        answer = self._caller.look(request, deadline_s)
        if isinstance(answer, Unreadable):
            return answer
        return frozenset(_table(answer).get("permissions", []))

    def may_list(self, what: str, deadline_s: float) -> Reading[bool]:
        """Whether the identity may list `instances` or `operations` of the zone, by trying."""
        request = Request("GET", self.path(what), {"maxResults": "1"})
        answer = self._caller.look(request, deadline_s)
        if isinstance(answer, Unanswered) and answer.kind == "auth":
            return False
        return answer if isinstance(answer, Unreadable) else True

    def path(self, below: str) -> str:
        """The path of something in this zone."""
        return f"/compute/v1/{self._place}/{below}"

    def _look(self, ids: tuple[str, ...], deadline_s: float) -> Reading[Mapping[str, Reading[Vm]]]:
        until_s = monotonic_s() + deadline_s
        if len(ids) > 1 and self._may_list:
            found = self._listed(until_s)
            if not (isinstance(found, Unanswered) and found.kind == "auth"):
                return found
            self._may_list = False
        return self._each(ids, until_s)

    def _listed(self, until_s: float) -> Reading[Mapping[str, Reading[Vm]]]:
        found: dict[str, Reading[Vm]] = {}
        query = {"maxResults": str(_PAGE), "fields": f"nextPageToken,items({_FIELDS})"}
        while True:
            request = Request("GET", self.path("instances"), query)
            answer = self._caller.look(request, until_s - monotonic_s())
            if isinstance(answer, Unreadable):
                return answer
            found |= {str(one.get("name")): one for one in _items(answer)}
            token = _table(answer).get("nextPageToken")
            if not isinstance(token, str):
                return found
            query = query | {"pageToken": token}

    def _each(self, ids: tuple[str, ...], until_s: float) -> Reading[Mapping[str, Reading[Vm]]]:
        """One by one; an error that is not that of one VM ends the look."""
        found: dict[str, Reading[Vm]] = {}
        for name in ids:
            request = Request("GET", self.path(f"instances/{name}"), {"fields": _FIELDS})
            answer = self._caller.look(request, until_s - monotonic_s())
            if isinstance(answer, Unanswered) and answer.kind not in ("gone", "auth"):
                return answer
            if isinstance(answer, Unreadable):
                found[name] = answer
            elif isinstance(answer.body, dict):
                found[name] = answer.body
            else:
                found[name] = unanswered("unknown", "no VM in the answer")
        return found


def _items(answer: Answer) -> Iterator[Mapping[str, Any]]:
    yield from (one for one in _table(answer).get("items") or () if isinstance(one, dict))


def _table(answer: Answer) -> Mapping[str, Any]:
    return answer.body if isinstance(answer.body, dict) else {}
