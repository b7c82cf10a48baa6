"""The vendor's client behind readings with a deadline: its retries and its own ways to a token are not used.

`nebius` 0.6: a request is sent when its `wait` is called, `timeout` bounds it, `retries=0` is one attempt. Earlier
versions hung in `wait`, hence the hard end besides.
"""

import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from spoteval import __version__
from spoteval.clock import monotonic_s
from spoteval.provider.contract import unanswered
from spoteval.provider.nebius.states import Operation, Refused, Vm, refusal
from spoteval.provider.token import Bearer
from spoteval.provider.within import Patience
from spoteval.shape import Reading, ShapeError, Unreadable

Ask = Callable[[Any], Any]
NEEDED = "nebius>=0.6,<0.7"
UNAUTHENTICATED = "UNAUTHENTICATED"
_PAGE = 50


def loaded() -> Any:
    """The vendor's package; raises ShapeError where it is absent."""
    try:
        import nebius.sdk
    except ImportError as error:
        raise ShapeError(
            f'provider "nebius": needs the vendor\'s client (pipx inject spoteval "{NEEDED}")'
        ) from error
    for name in ("nebius", "grpc"):  # they print a traceback for each error
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return nebius.sdk


class Client:
    """One API for one identity."""

    def __init__(self, bearer: Bearer[str], endpoint_url: str | None) -> None:
        self._bearer = bearer
        self._patience = Patience()
        self._sdk = _sdk(endpoint_url)

    def look(self, ask: Ask, deadline_s: float) -> Reading[Any]:
        """The answer; a token that is refused is renewed once. `ask` makes a request of the SDK."""
        until_s = monotonic_s() + deadline_s
        answer = self.call(ask, deadline_s)
        if isinstance(answer, Refused) and answer.code == UNAUTHENTICATED:
            answer = self.call(ask, until_s - monotonic_s())
        return refusal(answer) if isinstance(answer, Refused) else answer

    def call(self, ask: Ask, deadline_s: float) -> Reading[Any]:
        """Exactly one request, or none where there is no token; `Refused` is an answer here."""
        token = self._bearer.value(deadline_s)
        if isinstance(token, Unreadable):
            return unanswered("auth", token.why)
        limit_s = max(0.001, deadline_s)
        options = {
            "metadata": [("authorization", f"Bearer {token}")],
            "timeout": limit_s,
            "per_retry_timeout": limit_s,
            "auth_timeout": limit_s,
            "retries": 0,
        }
        answer = self._patience.within(deadline_s, lambda: self._waited(ask, options))
        if isinstance(answer, Refused) and answer.code == UNAUTHENTICATED:
            self._bearer.refused(token)
        return answer

    def _waited(self, ask: Ask, options: dict[str, Any]) -> Reading[Any]:
        try:
            answer: Any = ask(_Asked(self._sdk, options)).wait()
        except Exception as error:  # noqa: BLE001 - the SDK's own, gRPC's and asyncio's
            refused = refused_by(getattr(error, "status", None))
            return refused if refused is not None else unanswered("unknown", type(error).__name__)
        # An answer that cannot be decoded is None, and no error.
        return answer if answer is not None else unanswered("unknown", "half an answer")


class _Asked:
    """What an `ask` is given: the channel, and what every request is sent with."""

    def __init__(self, sdk: Any, options: dict[str, Any]) -> None:
        self.sdk, self.options = sdk, options


def batch_of(ids: tuple[str, ...]) -> Ask:
    """Up to 1,000 instances in one call."""
    from nebius.api.nebius.compute.v1 import BatchGetRequest, InstanceServiceClient

    request = BatchGetRequest(instance_ids=list(ids))
    return lambda to: InstanceServiceClient(to.sdk).batch_get(request, **to.options)


def start_of(name: str) -> Ask:
    """A start of this instance."""
    from nebius.api.nebius.compute.v1 import InstanceServiceClient, StartInstanceRequest

    request = StartInstanceRequest(id=name)
    return lambda to: InstanceServiceClient(to.sdk).start(request, **to.options)


def stop_of(name: str) -> Ask:
    """A stop of this instance."""
    from nebius.api.nebius.compute.v1 import InstanceServiceClient, StopInstanceRequest

    request = StopInstanceRequest(id=name)
    return lambda to: InstanceServiceClient(to.sdk).stop(request, **to.options)


def operations_of(name: str) -> Ask:
    """What was asked of this instance lately."""
    from nebius.api.nebius.common.v1 import ListOperationsRequest
    from nebius.api.nebius.compute.v1 import InstanceServiceClient

    request = ListOperationsRequest(resource_id=name, page_size=_PAGE)
    return lambda to: InstanceServiceClient(to.sdk).operation_service().list(request, **to.options)


def vm_from(message: Any) -> Vm:
    """What is read of an instance."""
    spec, status = message.spec, message.status
    return Vm(
        state=int(status.state),
        recovery=int(spec.recovery_policy),
        preemptible=bool(spec.check_presence("preemptible")),
        follows_spot_price=_follows_spot_price(spec),
        platform=str(spec.resources.platform),
        preset=str(spec.resources.preset or ""),
        project=str(message.metadata.parent_id),
        addresses=tuple(_addresses(status)),
    )


def operation_from(message: Any) -> Operation:
    """One change that was asked for."""
    return Operation(
        type=str(message.request.type_url),
        at=message.created_at,
        by=str(message.created_by),
        refused=refused_by(message.status),
    )


def refused_by(status: Any) -> Refused | None:
    """A status as names; None where it is OK, or none."""
    name = getattr(getattr(status, "code", None), "name", None)
    if name is None or name == "OK":
        return None
    errors = getattr(status, "service_errors", None) or ()
    fields = [one.details.field for one in errors if one.details is not None]
    quota = "quota" in str(getattr(status, "message", "")).lower()
    return Refused(str(name), fields[0] if fields else "quota_failure" if quota else "")


def _follows_spot_price(spec: Any) -> bool:
    """Earlier clients know of no such price."""
    found = (getattr(spec, name, None) for name in ("follows_spot_price", "spot_pricing_policy"))
    return any(one is not None for one in found)


def _addresses(status: Any) -> list[str]:
    found = []
    for one in status.network_interfaces:
        for text in (str(one.public_ip_address.address), str(one.ip_address.address)):
            if text:
                found.append(text.partition("/")[0])
    return found


def _sdk(endpoint_url: str | None) -> Any:
    sdk = loaded()
    from nebius.aio.channel import NoCredentials
    from nebius.base.options import INSECURE
    from nebius.base.resolver import Constant

    own = {"credentials": NoCredentials(), "user_agent_prefix": f"spoteval/{__version__}"}
    if endpoint_url is not None:
        own["resolver"] = Constant(urlsplit(endpoint_url).netloc)
        own["options"] = [(INSECURE, True)]
    return sdk.SDK(**own)
