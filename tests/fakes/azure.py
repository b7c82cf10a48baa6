"""Azure Resource Manager on loopback: power states, starts that fail in their operation, scheduled events."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fakes.machine import Machine
from fakes.server import Asked, FakeServer, Reply

SUBSCRIPTION, GROUP = "00000000-0000-4000-8000-000000000001", "evals"
_NAMES = {"STARTING": "starting", "RUNNING": "running", "STOPPING": "deallocating"}
_CAUSES = {
    "preempted": "VirtualMachinePreempted",
    "user": "VirtualMachineDeallocationInitiated",
    "guest": "VirtualMachineStoppedInternally",
    "platform": "VirtualMachineRebootInitiatedByPlatform",
}
_TOP = f"/subscriptions/{SUBSCRIPTION}"
_BELOW = f"{_TOP}/resourceGroups/{GROUP}/providers/Microsoft.Compute/virtualMachines"
_KIND = "Microsoft.Compute/virtualMachines"


def vm_id(name: str) -> str:
    """The whole resource id."""
    return f"{_BELOW}/{name}"


def error(status: int, code: str, *details: str, headers: Mapping[str, str] | None = None) -> Reply:
    """As Azure puts it; the cause may be some levels down."""
    found: dict[str, Any] = {"code": code, "message": "hunter2 in a message"}
    if details:
        found["details"] = [{"code": one, "message": "hunter2"} for one in details]
    return Reply(status, {"error": found}, headers or {})


class FakeArm(FakeServer):
    """VMs by name in one group; `actions` are those of the pasted role; `token` is the one that is good."""

    def __init__(self, machines: Mapping[str, Machine], actions: set[str]) -> None:
        super().__init__()
        self.machines, self.actions = dict(machines), actions
        self.token = "eyJ.one"
        self.priority, self.eviction = "Spot", "Deallocate"
        self.price: float | None = 3.2
        self.has_power, self.whole_subscription, self.explains = True, False, True

    def handle(self, asked: Asked) -> Reply:
        if asked.path == "/api/retail/prices":
            return self._prices()
        if asked.headers.get("authorization") != f"Bearer {self.token}":
            return error(401, "ExpiredAuthenticationToken")
        if asked.path.startswith("/operations/"):
            return self._operation(asked.path.rpartition("/")[2])
        if asked.path == "/providers/Microsoft.ResourceGraph/resources":
            return self._annotations()
        if asked.path == f"{_TOP}/providers/{_KIND}":
            return self._all()
        if match := re.fullmatch(re.escape(_BELOW) + r"/([^/]+)/(start|deallocate)", asked.path):
            return self._may(f"{_KIND}/{match[2]}/action") or self._call(match[1], match[2])
        suffix = "/providers/Microsoft.Authorization/permissions"
        if match := re.fullmatch(re.escape(_BELOW) + r"/([^/]+)" + suffix, asked.path):
            return Reply(200, {"value": [{"actions": sorted(self.actions), "notActions": []}]})
        if match := re.fullmatch(re.escape(_BELOW) + r"/([^/]+)", asked.path):
            return self._may(f"{_KIND}/read") or self._get(match[1])
        return error(404, "ResourceNotFound")

    def starts(self) -> int:
        """Requests for a start."""
        return self.count("POST", "/start")

    def _may(self, action: str) -> Reply | None:
        return None if action in self.actions else error(403, "AuthorizationFailed")

    def _call(self, name: str, verb: str) -> Reply:
        machine = self.machines.get(name)
        if machine is None:
            return error(404, "ResourceNotFound")
        headers = {"Azure-AsyncOperation": f"{self.url}/operations/{name}", "Retry-After": "10"}
        if verb == "deallocate":
            machine.billed_off = False
            machine.stop("user")
            return Reply(202, "", headers)
        if machine.state == "STOPPING":
            return error(409, "AnotherOperationInProgress")
        if machine.state in ("STARTING", "RUNNING"):
            return Reply(200, "")
        answer = machine.start()
        if answer.status != 200:
            return error(answer.status, *str(answer.error).split("/"))
        return Reply(202, "", headers)

    def _get(self, name: str) -> Reply:
        machine = self.machines.get(name)
        return (
            Reply(200, self._shown(name, machine))
            if machine is not None
            else error(404, "ResourceNotFound")
        )

    def _all(self) -> Reply:
        if not self.whole_subscription:
            return error(403, "AuthorizationFailed")
        return Reply(200, {"value": [self._shown(*one) for one in sorted(self.machines.items())]})

    def _shown(self, name: str, machine: Machine) -> Mapping[str, Any]:
        state = machine.state
        off = "stopped" if machine.billed_off else "deallocated"
        statuses = [
            {
                "code": "ProvisioningState/failed"
                if machine.late_error
                else "ProvisioningState/succeeded"
            }
        ]
        if self.has_power:
            statuses.append({"code": f"PowerState/{_NAMES.get(state, off)}"})
        return {
            "id": vm_id(name),
            "name": name,
            "location": "westeurope",
            "properties": {
                "priority": self.priority,
                "evictionPolicy": self.eviction,
                "hardwareProfile": {"vmSize": "Standard_NC24ads_A100_v4"},
                "billingProfile": {"maxPrice": -1},
                "instanceView": {"statuses": statuses},
            },
        }

    def _operation(self, name: str) -> Reply:
        machine = self.machines[name]
        if machine.state in ("STARTING", "STOPPING"):
            return Reply(200, {"status": "InProgress"}, {"Retry-After": "10"})
        if machine.late_error is None:
            return Reply(200, {"status": "Succeeded"})
        code, *details = machine.late_error.split("/")
        below = [{"code": one, "message": "hunter2"} for one in details]
        return Reply(200, {"status": "Failed", "error": {"code": code, "details": below}})

    def _annotations(self) -> Reply:
        if not self.explains:
            return error(403, "AuthorizationFailed")
        rows = [
            {
                "targetResourceId": vm_id(name).lower(),
                "annotationName": _CAUSES[machine.cause],
                "occurrenceTime": machine.in_state_since.isoformat(),
            }
            for name, machine in self.machines.items()
            if machine.cause is not None
        ]
        return Reply(200, {"totalRecords": len(rows), "data": rows})

    def _prices(self) -> Reply:
        row = {
            "currencyCode": "USD",
            "retailPrice": self.price,
            "effectiveStartDate": "2026-11-01T00:00:00Z",
            "unitOfMeasure": "1 Hour",
            "type": "Consumption",
        }
        name = "NC24ads A100 v4"
        rows = [
            row
            | {
                "productName": "Virtual Machines NCads Series",
                "skuName": f"{name}{kind}",
                "meterName": f"{name}{kind}",
            }
            for kind in (" Spot", " Low Priority", "")
        ]
        rows.append(rows[0] | {"productName": "Virtual Machines NCads Series Windows"})
        return Reply(200, {"Items": rows if self.price is not None else [], "NextPageLink": None})


class FakeAzureMetadata(FakeServer):
    """The metadata service of a VM: its name, its identity's token, scheduled events."""

    def __init__(self) -> None:
        super().__init__()
        self.token = "eyJ.one"
        self.events: list[dict[str, Any]] = []
        self.count_of_events = 0

    def event(self, kind: str, names: list[str], when: str = "") -> dict[str, Any]:
        """One event that is announced."""
        self.count_of_events += 1
        return {
            "EventId": f"e-{self.count_of_events}",
            "EventType": kind,
            "ResourceType": "VirtualMachine",
            "Resources": names,
            "EventStatus": "Scheduled",
            "NotBefore": when,
            "EventSource": "Platform",
            "DurationInSeconds": -1,
        }

    def announce(self, deadline: datetime) -> None:
        """A preemption at that time."""
        when = deadline.strftime("%a, %d %b %Y %H:%M:%S GMT")
        self.events = [self.event("Preempt", ["gpu-1"], when)]

    def withdraw(self) -> None:
        """It was nothing."""
        self.events = []

    def handle(self, asked: Asked) -> Reply:
        if asked.headers.get("metadata") != "true":
            return Reply(400, "Bad request")
        if asked.path == "/metadata/instance/compute/name":
            return Reply(200, "gpu-1")
        if asked.path == "/metadata/instance/compute/resourceId":
            return Reply(200, vm_id("gpu-1"))
        if asked.path == "/metadata/scheduledevents":
            return Reply(200, {"DocumentIncarnation": self.count_of_events, "Events": self.events})
        if asked.path == "/metadata/identity/oauth2/token":
            token = {"access_token": self.token, "expires_in": "86399", "token_type": "Bearer"}
            return Reply(200, token)
        return Reply(404)
