"""Nebius on loopback: its gRPC with the vendor's own types, and the metadata service of a VM."""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import grpc
from nebius.api.google.protobuf import Any as AnyMessage
from nebius.api.google.rpc import Status
from nebius.api.nebius.billing import v1 as billing
from nebius.api.nebius.capacity import v1 as capacity
from nebius.api.nebius.common import v1 as common
from nebius.api.nebius.compute import v1 as compute
from nebius.api.nebius.iam import v1 as iam

from fakes.machine import Machine
from fakes.server import Asked, FakeServer, Reply

PROJECT, SUBJECT, GROUP = "project-e00evals", "serviceaccount-e00restarter", "group-e00evals"
TENANT, REGION, SIZE = "tenant-e00evals", "eu-north1", ("gpu-h100-sxm", "1gpu-16vcpu-200gb")
DETAILS: Mapping[str, Callable[[], Any]] = {
    "not_enough_resources": lambda: {"not_enough_resources": common.NotEnoughResources()},
    "quota_failure": lambda: {"quota_failure": common.QuotaFailure()},
    "too_many_requests": lambda: {"too_many_requests": common.TooManyRequests()},
    "operation_conflict": lambda: {"operation_conflict": common.OperationConflict()},
}
Codes: Any = grpc.StatusCode


@dataclass
class Wrong:
    """A status for requests of some methods. `detail`: one of DETAILS; `hangs`: none comes at all."""

    code: Any
    text: str = "hunter2 in a message"
    detail: str = ""
    ending: str = ""
    hangs: bool = False
    garbage: bool = False


class FakeNebius(grpc.GenericRpcHandler):  # type: ignore[misc]
    """VMs by id in one project; `roles` are those of the pasted permits."""

    def __init__(self, machines: Mapping[str, Machine], roles: set[str]) -> None:
        self.machines, self.roles = dict(machines), roles
        self.token = "v1.one"
        self.recovery = "FAIL"
        self.asked: list[tuple[str, str]] = []
        self.wrong: Wrong | None = None
        self.explains, self.tells_permits = True, True
        self.hourly: dict[str, str] | None = {"hour": "2.15"}  # by unit of time; None: no estimates
        self.room: dict[str, str] | None = {}  # level by fabric; None: no advice
        self.room_is = "FRESH"
        self.over = threading.Event()
        self._lock = threading.RLock()
        self._started: dict[str, Any] = {}
        self._methods: dict[str, Callable[[bytes, Any], Any]] = {
            "/nebius.compute.v1.InstanceService/BatchGet": self._batch_get,
            "/nebius.compute.v1.InstanceService/Start": self._start,
            "/nebius.compute.v1.InstanceService/Stop": self._stop,
            "/nebius.common.v1.OperationService/List": self._operations,
            "/nebius.billing.v1.CalculatorService/EstimateBatch": self._estimate,
            "/nebius.capacity.v1.ResourceAdviceService/List": self._advice,
            "/nebius.iam.v1.ProfileService/Get": self._profile,
            "/nebius.iam.v1.GroupMembershipService/ListMemberOf": self._groups,
            "/nebius.iam.v1.AccessPermitService/List": self._permits,
        }
        self._server = grpc.server(ThreadPoolExecutor(16))
        self._server.add_generic_rpc_handlers((self,))
        self._port = self._server.add_insecure_port("127.0.0.1:0")

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    def starts(self) -> int:
        """Requests for a start."""
        return self.count("/Start")

    def count(self, ending: str) -> int:
        """Requests of the method with that end."""
        return sum(method.endswith(ending) for method, _ in self.asked)

    @contextmanager
    def listening(self) -> Iterator["FakeNebius"]:
        """Until the end of the block; whatever hangs is let go then."""
        self._server.start()
        try:
            yield self
        finally:
            self.over.set()
            self._server.stop(0)

    def service(self, details: Any) -> Any:
        """Each method is answered, one at a time."""
        method = str(details.method)
        token = str(dict(details.invocation_metadata).get("authorization", ""))

        def answered(raw: bytes, context: Any) -> bytes:
            with self._lock:
                self.asked.append((method, token))
                wrong = self.wrong
            if wrong is not None and method.endswith(wrong.ending):
                return self._wrong(wrong, context)
            with self._lock:
                if token != f"Bearer {self.token}":
                    return abort(context, Wrong(Codes.UNAUTHENTICATED))
                found: bytes = self._methods[method](raw, context).SerializeToString()
                return found

        return grpc.unary_unary_rpc_method_handler(answered)

    def _wrong(self, wrong: Wrong, context: Any) -> bytes:
        if wrong.hangs:
            self.over.wait(30)
        return b"\xff\xff\xff\xff" if wrong.garbage else abort(context, wrong)

    def _may(self, context: Any, *roles: str) -> None:
        if not self.roles & {"admin", *roles}:
            abort(context, Wrong(Codes.PERMISSION_DENIED))

    def _batch_get(self, raw: bytes, context: Any) -> Any:
        self._may(context, "viewer", "editor")
        result = compute.BatchGetResponse.BatchGetResult
        items = {}
        for name in compute.BatchGetRequest.FromString(raw).instance_ids:
            machine = self.machines.get(name)
            items[name] = (
                result(error=Status(code=5, message="hunter2"))
                if machine is None
                else result(instance=self._shown(name, machine))
            )
        return compute.BatchGetResponse(items=items)

    def _start(self, raw: bytes, context: Any) -> Any:
        self._may(context, "editor")
        name = compute.StartInstanceRequest.FromString(raw).id
        machine = self._machine(name, context)
        if machine.state == "STOPPING":
            abort(context, Wrong(Codes.ABORTED, detail="operation_conflict"))
        if machine.state != "STOPPED":
            abort(context, Wrong(Codes.FAILED_PRECONDITION))
        answer = machine.start()
        self._started[name] = machine.clock().wall
        if answer.status != 200:
            abort(context, wrong_start(str(answer.error)))
        return self._operation(name, "StartInstanceRequest", machine)

    def _stop(self, raw: bytes, context: Any) -> Any:
        self._may(context, "editor")
        name = compute.StopInstanceRequest.FromString(raw).id
        machine = self._machine(name, context)
        machine.stop("user")
        return self._operation(name, "StopInstanceRequest", machine)

    def _operations(self, raw: bytes, context: Any) -> Any:
        if not self.explains:
            abort(context, Wrong(Codes.PERMISSION_DENIED))
        name = common.ListOperationsRequest.FromString(raw).resource_id
        machine = self._machine(name, context)
        found = []
        if name in self._started:
            found.append(self._operation(name, "StartInstanceRequest", machine))
        if machine.cause == "user":
            found.append(self._operation(name, "StopInstanceRequest", machine))
        return common.ListOperationsResponse(operations=found)

    def _estimate(self, raw: bytes, context: Any) -> Any:
        """For the size and pricing of the one VM there is, and no other."""
        (asked,) = billing.EstimateBatchRequest.FromString(raw).resource_specs
        spec = compute.CreateInstanceRequest.FromString(asked.spec.value).spec
        size = (spec.resources.platform, spec.resources.preset)
        if self.hourly is None or size != SIZE or not spec.check_presence("preemptible"):
            abort(context, Wrong(Codes.PERMISSION_DENIED))
        assert self.hourly is not None
        costs = [
            billing.ResourceCost(
                aggregation_unit=billing.AggregationUnit(unit=unit),
                general=billing.GeneralResourceCost(total=billing.CostBreakdown(cost=cost)),
            )
            for unit, cost in self.hourly.items()
        ]
        return billing.EstimateBatchResponse(resource_costs=costs, currency="usd")

    def _advice(self, raw: bytes, context: Any) -> Any:
        """One row a page: all fabrics of the VM's region, then a region with more room."""
        asked = capacity.ListResourceAdviceRequest.FromString(raw)
        if self.room is None or asked.parent_id != TENANT:
            abort(context, Wrong(Codes.PERMISSION_DENIED))
        assert self.room is not None
        rows = [self._room(REGION, *one) for one in self.room.items()]
        rows.append(self._room("us-central1", "fabric-9", "HIGH"))
        at = int(asked.page_token or 0)
        more = str(at + 1) if at + 1 < len(rows) else ""
        return capacity.ListResourceAdviceResponse(items=rows[at : at + 1], next_page_token=more)

    def _room(self, region: str, fabric: str, level: str) -> Any:
        details, status = capacity.ComputeInstanceDetails, capacity.ResourceAdviceStatus
        room = status.Availability
        return capacity.ResourceAdvice(
            spec=capacity.ResourceAdviceSpec(
                region=region,
                fabric=fabric,
                compute_instance=details(platform=SIZE[0], preset=details.Preset(name=SIZE[1])),
            ),
            status=status(
                preemptible=room(
                    data_state=getattr(room.DataState, f"DATA_STATE_{self.room_is}"),
                    availability_level=getattr(
                        room.AvailabilityLevel, f"AVAILABILITY_LEVEL_{level}"
                    ),
                )
            ),
        )

    def _profile(self, raw: bytes, context: Any) -> Any:
        own = iam.ServiceAccount(metadata=common.ResourceMetadata(id=SUBJECT))
        profile = iam.ServiceAccountProfile(info=own)
        return iam.GetProfileResponse(service_account_profile=profile)

    def _groups(self, raw: bytes, context: Any) -> Any:
        if not self.tells_permits:
            abort(context, Wrong(Codes.PERMISSION_DENIED))
        group = iam.Group(metadata=common.ResourceMetadata(id=GROUP))
        return iam.ListMemberOfResponse(items=[group])

    def _permits(self, raw: bytes, context: Any) -> Any:
        specs = [iam.AccessPermitSpec(resource_id=PROJECT, role=role) for role in self.roles]
        specs.append(iam.AccessPermitSpec(resource_id="project-e00other", role="admin"))
        return iam.ListAccessPermitResponse(items=[iam.AccessPermit(spec=one) for one in specs])

    def _machine(self, name: str, context: Any) -> Machine:
        machine = self.machines.get(name)
        if machine is None:
            abort(context, Wrong(Codes.NOT_FOUND))
        assert machine is not None
        return machine

    def _shown(self, name: str, machine: Machine) -> Any:
        state = getattr(compute.InstanceStatus.InstanceState, machine.state)
        own = compute.NetworkInterfaceStatus(
            ip_address=compute.IPAddressStatus(address="10.0.0.7/32"),
            public_ip_address=compute.PublicIPAddressStatus(address="198.51.100.7/32"),
        )
        return compute.Instance(
            metadata=common.ResourceMetadata(id=name, parent_id=PROJECT),
            spec=compute.InstanceSpec(
                recovery_policy=getattr(compute.InstanceRecoveryPolicy, self.recovery),
                preemptible=compute.PreemptibleSpec(),
                resources=compute.ResourcesSpec(platform=SIZE[0], preset=SIZE[1]),
            ),
            status=compute.InstanceStatus(state=state, network_interfaces=[own]),
        )

    def _operation(self, name: str, request: str, machine: Machine) -> Any:
        """Without a status until it is finished."""
        own: dict[str, Any] = {}
        if machine.state in ("RUNNING", "STOPPED"):
            failed = request.startswith("Start") and machine.late_error is not None
            own["status"] = (
                status_of(wrong_start(str(machine.late_error))) if failed else Status(code=0)
            )
        is_start = request.startswith("Start")
        at = self._started.get(name) if is_start else machine.last_stop
        return common.Operation(
            id="computeoperation-e00one",
            created_by="useraccount-e00ana",
            created_at=at if at is not None else machine.clock().wall - timedelta(days=1),
            request=AnyMessage(type_url=f"type.googleapis.com/nebius.compute.v1.{request}"),
            resource_id=name,
            **own,
        )


def wrong_start(error: str) -> Wrong:
    """`not_enough_resources`, another detail, `bare` without any, `text` for a quota in words, or a status."""
    if error in DETAILS:
        return Wrong(Codes.RESOURCE_EXHAUSTED, detail=error)
    if error == "text":
        return Wrong(Codes.RESOURCE_EXHAUSTED, "Quota limit exceeded: hunter2")
    return Wrong(Codes.RESOURCE_EXHAUSTED if error == "bare" else Codes.INTERNAL)


def status_of(wrong: Wrong) -> Any:
    """google.rpc.Status, whose detail says that the call may be sent again: a start must not be."""
    packed = []
    if wrong.detail:
        error = common.ServiceError(
            service="compute",
            code=wrong.detail,
            retry_type=common.ServiceError.RetryType.CALL,
            **DETAILS[wrong.detail](),
        )
        url = "type.googleapis.com/nebius.common.v1.ServiceError"
        packed.append(AnyMessage(type_url=url, value=error.SerializeToString()))
    return Status(code=wrong.code.value[0], message=wrong.text, details=packed)


def abort(context: Any, wrong: Wrong) -> bytes:
    """Ends the call; does not return."""
    raw = status_of(wrong).SerializeToString()
    context.set_trailing_metadata((("grpc-status-details-bin", raw),))
    context.abort(wrong.code, wrong.text)
    raise AssertionError


class FakeNebiusMetadata(FakeServer):
    """The metadata service of a VM: its service account's token, and its events."""

    def __init__(self) -> None:
        super().__init__()
        self.token = "v1.one"
        self.events: object = []

    def handle(self, asked: Asked) -> Reply:
        if asked.headers.get("metadata") != "true":
            return Reply(400, "Bad request")
        if asked.method != "GET":
            return Reply(405)
        if asked.path == "/v1/iam/sa/token":
            return Reply(200, {"access_token": self.token, "expires_in": 43200})
        if asked.path == "/v1/instance-events":
            return Reply(200, self.events)
        return Reply(404)
