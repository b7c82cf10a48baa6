"""All pods of one key: looked at in one call; what REST no longer has is asked of GraphQL."""

from collections.abc import Callable, Mapping
from typing import Any

from spoteval.clock import Now, monotonic_s
from spoteval.provider.batch import Batch
from spoteval.provider.cloud_call import Caller
from spoteval.provider.contract import Reply, Unanswered, unanswered
from spoteval.provider.http import Answer, Api, Request
from spoteval.provider.runpod.states import messages, refusal, reply_of
from spoteval.provider.token import Bearer
from spoteval.shape import Reading, Unreadable

Pod = Mapping[str, Any]
_CHANGE = "query($id: String!) { pod(input: {podId: $id}) { podType lastStatusChange } }"
_BID = (
    "mutation($id: String!, $bid: Float!, $gpus: Int!)"
    " { podBidResume(input: {podId: $id, bidPerGpu: $bid, gpuCount: $gpus}) { id desiredStatus } }"
)
_PRICES = (
    "query($id: String!, $gpus: Int!, $secure: Boolean!) { gpuTypes(input: {id: $id})"
    " { lowestPrice(input: {gpuCount: $gpus, secureCloud: $secure})"
    " { minimumBidPrice uninterruptablePrice } } }"
)


class Pods:
    """What the instances of one key have in common."""

    def __init__(self, api: Api, bearer: Bearer[str], clock: Callable[[], Now]) -> None:
        self._caller = Caller(api, bearer, refusal)
        self.batch: Batch[Pod] = Batch(self._look, clock)

    def act(self, name: str, action: str, deadline_s: float) -> Reply:
        """One `start` or `stop`."""
        reply = self._caller.call(action_of(name, action), reply_of, deadline_s)
        self.batch.forget()
        return reply

    def bid(self, name: str, amount: float, gpus: int, deadline_s: float) -> Reply:
        """One start of an interruptible pod: only GraphQL has it."""
        variables = {"id": name, "bid": amount, "gpus": gpus}
        reply = self._caller.call(_asked(_BID, variables), _bid_reply, deadline_s)
        self.batch.forget()
        return reply

    def told(self, name: str, deadline_s: float) -> Reading[Mapping[str, Any]]:
        """`podType` and `lastStatusChange` of a pod."""
        data = self._data(_CHANGE, {"id": name}, deadline_s)
        if isinstance(data, Unreadable):
            return data
        pod = data.get("pod")
        return pod if isinstance(pod, Mapping) else unanswered("gone", "no such pod")

    def prices(
        self, kind: str, gpus: int, deadline_s: float, *, secure: bool
    ) -> Reading[Mapping[str, Any]]:
        """What one GPU of this kind costs an hour, on demand and at least to be bid."""
        variables = {"id": kind, "gpus": gpus, "secure": secure}
        data = self._data(_PRICES, variables, deadline_s)
        if isinstance(data, Unreadable):
            return data
        rows = data.get("gpuTypes")
        row = rows[0] if isinstance(rows, list) and len(rows) == 1 else {}
        found = row.get("lowestPrice") if isinstance(row, Mapping) else None
        return found if isinstance(found, Mapping) else Unreadable("price: Runpod names none")

    def asked(self, request: Request, deadline_s: float) -> Reading[Answer]:
        """Any other look, for `check`."""
        return self._caller.look(request, deadline_s)

    def _data(
        self, query: str, variables: Mapping[str, object], deadline_s: float
    ) -> Reading[Mapping[str, Any]]:
        answer = self._caller.look(_asked(query, variables), deadline_s)
        if isinstance(answer, Unreadable):
            return answer
        if messages(answer.body):
            return refusal(answer)
        data = answer.body.get("data") if isinstance(answer.body, Mapping) else None
        return data if isinstance(data, Mapping) else unanswered("unknown", "no data")

    def _look(self, ids: tuple[str, ...], deadline_s: float) -> Reading[Mapping[str, Reading[Pod]]]:
        """One that the list lacks is asked for by its name, before it counts as gone."""
        until_s = monotonic_s() + deadline_s
        answer = self._caller.look(Request("GET", "/v2/pods"), deadline_s)
        if isinstance(answer, Unreadable):
            is_gone = isinstance(answer, Unanswered) and answer.kind == "gone"
            return unanswered("unknown", "no list of pods here") if is_gone else answer
        rows = answer.body.get("pods") if isinstance(answer.body, Mapping) else None
        if not isinstance(rows, list):
            return unanswered("unknown", "no list of pods")
        found: dict[str, Reading[Pod]] = {
            str(one.get("id")): one for one in rows if isinstance(one, Mapping)
        }
        for name in (one for one in ids if one not in found):
            found[name] = self._one(name, until_s - monotonic_s())
        return found

    def _one(self, name: str, deadline_s: float) -> Reading[Pod]:
        answer = self._caller.look(Request("GET", f"/v2/pods/{name}"), deadline_s)
        if isinstance(answer, Unreadable):
            return answer
        return answer.body if isinstance(answer.body, Mapping) else unanswered("unknown", "no pod")


def action_of(name: str, action: str) -> Request:
    """The request for an action, whatever it is."""
    return Request("POST", f"/v2/pods/{name}/action", body={"action": action})


def _asked(query: str, variables: Mapping[str, object]) -> Request:
    """The key goes into a header: in the address it would lie in logs."""
    return Request("POST", "/graphql", body={"query": query, "variables": dict(variables)})


def _bid_reply(answer: Answer) -> Reply:
    """`null` in the place of the pod, without an error, is no start either."""
    reply = reply_of(answer)
    body = answer.body if isinstance(answer.body, Mapping) else {}
    data = body.get("data")
    if reply.ok and not (isinstance(data, Mapping) and data.get("podBidResume")):
        return Reply(ok=False, kind="unknown", detail="no pod in the answer")
    return reply
