"""What Nebius Compute says of a VM and its operations, in the product's words. Pure.

Values: nebius/compute/v1/instance.proto, nebius/common/v1/error.proto (github.com/nebius/api) and
docs.nebius.com/compute/virtual-machines/lifecycle.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from spoteval.provider.contract import (
    Observation,
    Reply,
    ReplyKind,
    State,
    Unanswered,
    kind_of_look,
    unanswered,
)

_STATES = {
    1: State.STARTING,  # CREATING
    3: State.STARTING,
    4: State.RUNNING,
    5: State.STOPPING,
    6: State.STOPPED,
    7: State.GONE,  # DELETING
    8: State.UNRESTARTABLE,  # ERROR: can neither be started nor stopped, only made anew
}
FAIL = 1
RECOVERY: Mapping[int, str] = {0: "RECOVER", FAIL: "FAIL", 2: "ALWAYS"}
_DETAILS: dict[str, ReplyKind] = {
    "not_enough_resources": "capacity",
    "quota_failure": "quota",
    "too_many_requests": "rate",
    "operation_conflict": "conflict",
    "operation_aborted": "conflict",
    "resource_conflict": "conflict",
    "bad_resource_state": "conflict",
    "permission_denied": "auth",
    "resource_not_found": "gone",
}
_CODES: dict[str, ReplyKind] = {
    "RESOURCE_EXHAUSTED": "capacity",  # where no detail says that it is of quota or pace
    "UNAUTHENTICATED": "auth",
    "PERMISSION_DENIED": "auth",
    "NOT_FOUND": "gone",
    "ABORTED": "conflict",
    "FAILED_PRECONDITION": "conflict",
}
_STOP, _START = "StopInstanceRequest", "StartInstanceRequest"
_PERSONS = ("useraccount", "tenantuseraccount", "serviceaccount")
"""How ids of accounts begin that are none of the platform's own."""


@dataclass(frozen=True, slots=True)
class Vm:
    """What is read of an instance."""

    state: int
    recovery: int = FAIL
    preemptible: bool = False
    follows_spot_price: bool = False
    platform: str = ""
    preset: str = ""
    project: str = ""
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A status other than OK: its name, and the kind of detail that goes with it."""

    code: str
    detail: str = ""

    @property
    def word(self) -> str:
        """For a line."""
        return self.detail or self.code


@dataclass(frozen=True, slots=True)
class Operation:
    """One change that was asked for. `type`: of its request; `by`: the account that asked."""

    type: str
    at: datetime | None
    by: str = ""
    refused: Refused | None = None


def observed(vm: Vm, stopped_by: str | None, advice: str | None) -> Observation:
    """The observation. Nebius tells no reason of a stop: what is known is who asked for one."""
    state = _STATES.get(vm.state, State.UNKNOWN)
    is_off = state is State.STOPPED
    return Observation(
        state=state,
        billed=None if state in (State.UNKNOWN, State.UNRESTARTABLE, State.GONE) else not is_off,
        cause="user" if is_off and stopped_by is not None else None,
        evidence=stopped_by if is_off else None,
        advice=advice if is_off else None,
        addresses=vm.addresses,
    )


def stopped_by(operations: Iterable[Operation]) -> str | None:
    """The word for a stop that somebody asked for, unless a start was asked for since. None: nobody is on record."""
    moves = [one for one in operations if one.type.endswith((_STOP, _START)) and one.at is not None]
    newest = max(moves, key=lambda one: str(one.at), default=None)
    if newest is None or not newest.type.endswith(_STOP) or not newest.by.startswith(_PERSONS):
        return None
    return _STOP


def refusal(refused: Refused) -> Unanswered:
    """A look that was refused. Only names are quoted, never a message."""
    if refused.code == "DEADLINE_EXCEEDED":
        return unanswered("timeout", "Nebius did not answer")
    kind = _kind(refused)
    # A look takes no room: what is exhausted then is patience.
    return unanswered("rate" if kind == "capacity" else kind_of_look(kind), refused.word)


def reply_to(refused: Refused | None) -> Reply:
    """An operation that was begun says nothing: no room is said by that, later, or by the state alone."""
    if refused is None:
        return Reply(ok=True, kind="accepted")
    return Reply(ok=False, kind=_kind(refused), detail=refused.word)


def _kind(refused: Refused) -> ReplyKind:
    return _DETAILS.get(refused.detail, _CODES.get(refused.code, "unknown"))
