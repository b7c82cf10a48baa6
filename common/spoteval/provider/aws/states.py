"""What EC2 says of an instance and of its spot request, in the product's words. Pure.

Values: docs.aws.amazon.com/AWSEC2/latest/APIReference (InstanceState, StateReason) and
docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-request-status.html.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spoteval.provider.contract import Observation, State

_STATES = {
    "pending": State.STARTING,
    "running": State.RUNNING,
    "stopping": State.STOPPING,
    "stopped": State.STOPPED,
    "shutting-down": State.GONE,
    "terminated": State.GONE,
}
BY_EC2 = frozenset(
    [
        "instance-stopped-by-price",
        "instance-stopped-no-capacity",
        "instance-stopped-capacity-oversubscribed",
    ]
)
_WAITING = frozenset(
    [
        "pending-evaluation",
        "pending-fulfillment",
        "capacity-not-available",
        "capacity-oversubscribed",
        "price-too-low",
    ]
)
"""Of a request that EC2 is about to serve again."""
_OVER = frozenset(["cancelled", "closed", "failed"])
_CAUSES = {
    "Server.SpotInstanceShutdown": "preempted",
    "Server.SpotInstanceTermination": "preempted",
    "Client.UserInitiatedShutdown": "user",
    "Client.InstanceInitiatedShutdown": "guest",
    "Server.ScheduledStop": "platform",
}
_FAILED_STARTS = frozenset(
    [
        "Server.InsufficientInstanceCapacity",
        "Server.InternalError",
        "Client.VolumeLimitExceeded",
        "Client.InternalError",
    ]
)
"""A start that was accepted and came to nothing; LaunchTime is that of this start all the same."""


@dataclass(frozen=True, slots=True)
class Described:
    """One instance as DescribeInstances has it, and its spot request, None where there is none or it is not told."""

    instance: Mapping[str, Any]
    request: Mapping[str, Any] | None = None

    @property
    def is_spot(self) -> bool:
        """Whether EC2 may take it."""
        return self.instance.get("InstanceLifecycle") in (
            "spot",
            "interruptible-capacity-reservation",
        )

    @property
    def reason(self) -> str:
        """StateReason's code."""
        return str((self.instance.get("StateReason") or {}).get("Code", ""))

    @property
    def code(self) -> str:
        """The code of the request's status: it, not the request's state, says who stopped the instance."""
        return str(((self.request or {}).get("Status") or {}).get("Code", ""))


def observed(found: Described) -> Observation:
    """The observation. A state that EC2 may have invented since is UNKNOWN."""
    name = str((found.instance.get("State") or {}).get("Name", ""))
    state = _STATES.get(name, State.UNKNOWN)
    if state is State.STOPPED:
        state = _stopped(found)
    is_off = state in (State.STOPPED, State.UNRESTARTABLE)
    cause = _cause(found) if is_off else None
    return Observation(
        state=state,
        billed=None if state is State.UNKNOWN else not is_off and state is not State.GONE,
        auto_restart=state is State.STOPPED and _is_ec2s(found),
        last_start=_last_start(found, state),
        cause=cause,
        evidence=_evidence(found) if cause is not None else None,
        addresses=tuple(
            str(found.instance[name])
            for name in ("PublicIpAddress", "PrivateIpAddress")
            if found.instance.get(name)
        ),
    )


def _stopped(found: Described) -> State:
    """While EC2 marks it for a stop a start is refused; without its request it can only be terminated."""
    if found.request is None:
        return State.STOPPED
    if found.code == "marked-for-stop":
        return State.STOPPING
    is_over = found.request.get("State") in _OVER
    return State.UNRESTARTABLE if is_over else State.STOPPED


def _is_ec2s(found: Described) -> bool:
    """Whether only EC2 starts it again: it stopped a spot instance of a persistent request itself."""
    if found.code:
        return found.code in BY_EC2 or found.code in _WAITING
    return found.is_spot and found.reason == "Server.SpotInstanceShutdown"


def _cause(found: Described) -> str | None:
    return "preempted" if found.code in BY_EC2 else _CAUSES.get(found.reason)


def _evidence(found: Described) -> str:
    return found.code if found.code in BY_EC2 else found.reason


def _last_start(found: Described, state: State) -> datetime | None:
    """LaunchTime is set when a start is accepted: only of one that is known to have run is it told."""
    if state in (State.STARTING, State.UNKNOWN) or found.reason in _FAILED_STARTS:
        return None
    when = found.instance.get("LaunchTime")
    return when if isinstance(when, datetime) else None
