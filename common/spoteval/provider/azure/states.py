"""What Azure says of a VM, in the product's words. Pure.

Values: learn.microsoft.com/azure/virtual-machines/states-billing, …/error-codes-spot,
…/azure/service-health/resource-health-vm-annotation.
"""

from collections.abc import Iterator, Mapping
from typing import Any

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

STATES = {
    "creating": State.STARTING,
    "starting": State.STARTING,
    "running": State.RUNNING,
    "stopping": State.STOPPING,
    "deallocating": State.STOPPING,
    "stopped": State.STOPPED,  # by its guest or powerOff: still allocated, and billed
    "deallocated": State.STOPPED,
    "hibernated": State.STOPPED,
}
CAUSES = {
    "virtualmachinepreempted": "preempted",
    "virtualmachinedeallocationinitiated": "user",
    "virtualmachinestopinitiatedbycontrolplane": "user",
    "virtualmachinestoppedinternally": "guest",
    "virtualmachinerebootinitiatedbyplatform": "platform",
    "virtualmachinehosterror": "platform",
}
_KINDS: dict[str, ReplyKind] = {
    "SkuNotAvailable": "capacity",
    "AllocationFailed": "capacity",
    "ZonalAllocationFailed": "capacity",
    "OverconstrainedAllocationRequest": "capacity",
    "OverconstrainedZonalAllocationRequest": "capacity",
    "SpotPriceGreaterThanProvidedMaxPrice": "price",
    "QuotaExceeded": "quota",
    "OperationNotAllowed": "quota",
    "AnotherOperationInProgress": "conflict",
    "Conflict": "conflict",
    "TooManyRequests": "rate",
    "OperationPreempted": "conflict",
    "AuthorizationFailed": "auth",
    "ExpiredAuthenticationToken": "auth",
    "InvalidAuthenticationToken": "auth",
    "LinkedAuthorizationFailed": "auth",
    "ResourceNotFound": "gone",
    "NotFound": "gone",
    "ResourceGroupNotFound": "gone",
}
_DEEP = 6


def observed(vm: Mapping[str, Any], annotation: str | None, advice: str | None) -> Observation:
    """The observation. A VM without a power state, which happens, is UNKNOWN; a failed provisioning says nothing."""
    word = _power(vm)
    state = STATES.get(word, State.UNKNOWN)
    is_off = state is State.STOPPED
    cause = CAUSES.get((annotation or "").lower()) if is_off else None
    return Observation(
        state=state,
        billed=None if state is State.UNKNOWN else not is_off or word == "stopped",
        cause=cause,
        evidence=annotation if cause is not None else None,
        advice=advice if is_off else None,
    )


def refusal(answer: Answer) -> Unanswered:
    """A look that was refused. Only a code is quoted, never a message."""
    kind, code = kind_of(answer.status, answer.body)
    return unanswered(kind_of_look(kind), code, answer.retry_after_s)


def reply_of(answer: Answer) -> Reply:
    """202 only says that there is an operation: no room is said by that, later."""
    if answer.ok:
        return Reply(ok=True, kind="accepted")
    kind, code = kind_of(answer.status, answer.body)
    return Reply(ok=False, kind=kind, detail=code)


def kind_of(status: int, body: object) -> tuple[ReplyKind, str]:
    """The first code that is known, from the outside in; else by the status."""
    codes = list(codes_in(body.get("error") if isinstance(body, dict) else None, _DEEP))
    known = next((code for code in codes if code in _KINDS), None)
    if status == 409 and known in (None, "OperationNotAllowed"):
        return "conflict", known or "409"  # of a VM that another operation works on
    if known is not None:
        return _KINDS[known], known
    return KIND_OF_STATUS.get(status, "unknown"), codes[0] if codes else str(status)


def codes_in(error: object, deep: int) -> Iterator[str]:
    """Azure wraps what it was in `details`, some levels down."""
    if not isinstance(error, dict) or deep == 0:
        return
    code = error.get("code")
    if isinstance(code, str) and code.isalnum() and len(code) < 80:
        yield code
    details = error.get("details")
    for one in details if isinstance(details, list) else ():
        yield from codes_in(one, deep - 1)


def _power(vm: Mapping[str, Any]) -> str:
    view = (vm.get("properties") or {}).get("instanceView") or {}
    for status in view.get("statuses") or ():
        family, _, word = str(status.get("code", "")).partition("/")
        if family == "PowerState":
            return word.lower()
    return ""
