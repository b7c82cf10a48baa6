"""What Compute Engine says of a VM and its operations, in the product's words. Pure.

Values: cloud.google.com/compute/docs/instances/instance-lifecycle and …/reference/rest/v1/instances, /zoneOperations.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from spoteval.clock import parse_stamp
from spoteval.provider.contract import (
    Observation,
    Reply,
    ReplyKind,
    State,
    Unanswered,
    kind_of_look,
    unanswered,
)
from spoteval.provider.http import KIND_OF_STATUS, Answer

_STATES = {
    "PROVISIONING": State.STARTING,
    "STAGING": State.STARTING,
    "PENDING": State.STARTING,
    "RUNNING": State.RUNNING,
    "PENDING_STOP": State.STOPPING,
    "STOPPING": State.STOPPING,
    "SUSPENDING": State.STOPPING,
    "DEPROVISIONING": State.STOPPING,
    "TERMINATED": State.STOPPED,  # it means stopped, not deleted
    "STOPPED": State.STOPPED,
    "SUSPENDED": State.UNRESTARTABLE,  # it resumes, and does not start
}
_CAUSES = {
    "compute.instances.preempted": "preempted",
    "compute.instances.terminateOnHostMaintenance": "preempted",
    "stop": "user",
    "compute.instances.stop": "user",
    "compute.instances.guestTerminate": "guest",
    "compute.instances.hostError": "platform",
    "compute.instances.stoppedDueToPdDoubleServe": "platform",
    "compute.instances.kmsKeyError": "platform",
    "compute.instances.localSsdInitializationError": "platform",
}
_KINDS: dict[str, ReplyKind] = {
    "ZONE_RESOURCE_POOL_EXHAUSTED": "capacity",
    "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS": "capacity",
    "insufficientCapacity": "capacity",
    "stockout": "capacity",
    "resource_availability": "capacity",
    "QUOTA_EXCEEDED": "quota",
    "quotaExceeded": "quota",
    "RESOURCE_NOT_READY": "conflict",
    "resourceNotReady": "conflict",
    "resourceInUseByAnotherResource": "conflict",
    "conditionNotMet": "conflict",
    "rateLimitExceeded": "rate",
    "userRateLimitExceeded": "rate",
    "RATE_LIMIT_EXCEEDED": "rate",
    "RESOURCE_OPERATION_RATE_EXCEEDED": "rate",
    "notFound": "gone",
    "forbidden": "auth",
    "authError": "auth",
    "required": "auth",
}


def observed(vm: Mapping[str, Any], stop: str | None, advice: str | None) -> Observation:
    """The observation. `stop`: type of the operation that stopped it last, None where that is not known."""
    state = _STATES.get(str(vm.get("status")), State.UNKNOWN)
    is_off = state in (State.STOPPED, State.UNRESTARTABLE)
    cause = _CAUSES.get(stop or "") if is_off else None
    return Observation(
        state=state,
        billed=None if state is State.UNKNOWN else not is_off,
        last_start=_last_start(vm, state),
        cause=cause,
        evidence=stop if cause is not None else None,
        advice=advice if is_off else None,
        addresses=tuple(_addresses(vm)),
    )


def last_stop(operations: Iterable[Mapping[str, Any]]) -> str | None:
    """The type of the newest operation that stopped the VM, however they are ordered."""
    stops = [one for one in operations if one.get("operationType") in _CAUSES]
    newest = max(stops, key=lambda one: str(one.get("insertTime", "")), default=None)
    return str(newest["operationType"]) if newest is not None else None


def failed_with(operation: Mapping[str, Any]) -> str | None:
    """The code with which an operation that is done has failed."""
    if operation.get("status") != "DONE":
        return None
    errors = (operation.get("error") or {}).get("errors") or [{}]
    return code_in(errors[0].get("code"))


def refusal(answer: Answer) -> Unanswered:
    """A look that was refused. Only a code is quoted, never a message."""
    code = _reason(answer)
    kind = kind_of_look(_kind(answer.status, code))
    return unanswered(kind, code or str(answer.status), answer.retry_after_s)


def reply_of(answer: Answer) -> Reply:
    """200 only says that there is an operation: no room is said by that, later."""
    if answer.ok:
        return Reply(ok=True, kind="accepted")
    code = _reason(answer)
    return Reply(ok=False, kind=_kind(answer.status, code), detail=code or str(answer.status))


def code_in(value: object) -> str | None:
    """A word that can be nothing but a code."""
    text = value if isinstance(value, str) else ""
    return text if 0 < len(text) < 80 and text.replace("_", "").replace(".", "").isalnum() else None


def _kind(status: int, code: str | None) -> ReplyKind:
    return _KINDS.get(code or "", KIND_OF_STATUS.get(status, "unknown"))


def _reason(answer: Answer) -> str | None:
    body = answer.body if isinstance(answer.body, dict) else {}
    error = body.get("error")
    errors = error.get("errors") if isinstance(error, dict) else None
    first = errors[0] if isinstance(errors, list) and errors else {}
    return code_in(first.get("reason")) if isinstance(first, dict) else None


def _last_start(vm: Mapping[str, Any], state: State) -> datetime | None:
    """Of a life that goes on, or one that ended: a start that found no room is not told from it otherwise."""
    start, stop = _moment(vm, "lastStartTimestamp"), _moment(vm, "lastStopTimestamp")
    if start is None or state is State.RUNNING:
        return start
    is_over = stop is not None and stop >= start
    return start if state is State.STOPPING or (state is not State.STARTING and is_over) else None


def _moment(vm: Mapping[str, Any], name: str) -> datetime | None:
    try:
        return parse_stamp(str(vm[name]))
    except (KeyError, ValueError):
        return None


def _addresses(vm: Mapping[str, Any]) -> Iterable[str]:
    for interface in vm.get("networkInterfaces") or ():
        for access in interface.get("accessConfigs") or ():
            if access.get("natIP"):
                yield str(access["natIP"])
        if interface.get("networkIP"):
            yield str(interface["networkIP"])
