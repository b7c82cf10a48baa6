"""Compute Engine on loopback: slow states, operations that fail later, a metadata server with long polls."""

import re
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fakes.machine import Machine
from fakes.server import Asked, FakeServer, Reply

PROJECT, ZONE = "evals-1", "europe-west4-b"
_NAMES = {
    "STARTING": "STAGING",
    "RUNNING": "RUNNING",
    "STOPPING": "STOPPING",
    "STOPPED": "TERMINATED",
}
_OPERATIONS = {
    "preempted": "compute.instances.preempted",
    "user": "stop",
    "guest": "compute.instances.guestTerminate",
    "platform": "compute.instances.hostError",
}
_PLACE = f"/compute/v1/projects/{PROJECT}/zones/{ZONE}"


def error(status: int, reason: str, text: str = "hunter2 in a message") -> Reply:
    """As Google's APIs put it."""
    errors = [{"message": text, "domain": "usageLimits", "reason": reason}]
    return Reply(status, {"error": {"code": status, "message": text, "errors": errors}})


def stamp(moment: datetime | None) -> str | None:
    """As Compute Engine writes times."""
    return moment.isoformat(timespec="milliseconds") if moment is not None else None


MACHINE_TYPE = {
    "name": "a2-highgpu-2g",
    "guestCpus": 24,
    "memoryMb": 174080,
    "accelerators": [{"guestAcceleratorType": "nvidia-tesla-a100", "guestAcceleratorCount": 2}],
}


class FakeGce(FakeServer):
    """VMs by name in one zone; `permissions` are those of the pasted role; `token` is the one that is good."""

    def __init__(self, machines: Mapping[str, Machine], permissions: set[str]) -> None:
        super().__init__()
        self.machines, self.permissions = dict(machines), permissions
        self.token = "ya29.one"
        self.operations: dict[str, Mapping[str, Any]] = {}
        self.recovery = "STOP"

    def handle(self, asked: Asked) -> Reply:
        if asked.headers.get("authorization") != f"Bearer {self.token}":
            return error(401, "authError")
        path = asked.path.removeprefix(_PLACE)
        if path == asked.path:
            return error(404, "notFound")
        if match := re.fullmatch(r"/instances/([^/]+)/(start|stop|testIamPermissions)", path):
            return self._call(match[1], match[2], asked)
        if match := re.fullmatch(r"/instances/([^/]+)", path):
            return self._may("compute.instances.get") or self._get(match[1])
        if path == "/instances":
            return self._may("compute.instances.list") or self._list(asked)
        if path.startswith("/machineTypes/"):
            return self._may("compute.machineTypes.get") or Reply(200, MACHINE_TYPE)
        if match := re.fullmatch(r"/operations/([^/]+)", path):
            return self._may("compute.zoneOperations.get") or self._operation(match[1])
        if path == "/operations":
            return self._may("compute.zoneOperations.list") or self._stops(asked)
        return error(404, "notFound")

    def starts(self) -> int:
        """Requests for a start."""
        return self.count("POST", "/start")

    def _may(self, permission: str) -> Reply | None:
        return None if permission in self.permissions else error(403, "forbidden")

    def _call(self, name: str, verb: str, asked: Asked) -> Reply:
        machine = self.machines.get(name)
        if machine is None:
            return error(404, "notFound")
        if verb == "testIamPermissions":
            wanted = asked.table["permissions"]
            return Reply(200, {"permissions": [one for one in wanted if one in self.permissions]})
        if (refusal := self._may(f"compute.instances.{verb}")) is not None:
            return refusal
        return self._start(name, machine) if verb == "start" else self._stop(name, machine)

    def _start(self, name: str, machine: Machine) -> Reply:
        if machine.state == "STOPPING":
            return error(400, "resourceNotReady")
        if machine.state in ("STARTING", "RUNNING"):
            return Reply(200, self._begun("start", name))
        answer = machine.start()
        if answer.status != 200:
            return error(answer.status, str(answer.error))
        return Reply(200, self._begun("start", name))

    def _stop(self, name: str, machine: Machine) -> Reply:
        machine.stop("user")
        return Reply(200, self._begun("stop", name))

    def _begun(self, kind: str, name: str) -> Mapping[str, Any]:
        found = {
            "kind": "compute#operation",
            "name": f"operation-{len(self.operations)}",
            "operationType": kind,
            "status": "RUNNING",
            "targetLink": f"https://www.googleapis.com{_PLACE}/instances/{name}",
        }
        self.operations[str(found["name"])] = found
        return found

    def _get(self, name: str) -> Reply:
        machine = self.machines.get(name)
        return (
            Reply(200, self._shown(name, machine))
            if machine is not None
            else error(404, "notFound")
        )

    def _list(self, asked: Asked) -> Reply:
        names = sorted(self.machines)
        first = int(asked.query.get("pageToken", "0"))
        size = int(asked.query.get("maxResults", "500"))
        items = [self._shown(name, self.machines[name]) for name in names[first : first + size]]
        more = {"nextPageToken": str(first + size)} if first + size < len(names) else {}
        return Reply(200, {"items": items, **more})

    def _shown(self, name: str, machine: Machine) -> Mapping[str, Any]:
        state = machine.state
        access = [{"natIP": "192.0.2.7"}] if state == "RUNNING" else [{}]
        found = {
            "name": name,
            "status": _NAMES[state],
            "lastStartTimestamp": stamp(machine.launched),
            "lastStopTimestamp": stamp(machine.last_stop),
            "scheduling": {"provisioningModel": "SPOT", "instanceTerminationAction": self.recovery},
            "networkInterfaces": [{"networkIP": "10.0.0.7", "accessConfigs": access}],
        }
        return {key: value for key, value in found.items() if value is not None}

    def _operation(self, name: str) -> Reply:
        found = self.operations.get(name)
        if found is None:
            return error(404, "notFound")
        machine = self.machines[found["targetLink"].rpartition("/")[2]]
        if machine.state in ("STARTING", "STOPPING"):
            return Reply(200, found)
        failed = found["operationType"] == "start" and machine.late_error is not None
        errors = {"errors": [{"code": machine.late_error, "message": "hunter2"}]}
        return Reply(200, {**found, "status": "DONE"} | ({"error": errors} if failed else {}))

    def _stops(self, asked: Asked) -> Reply:
        """Newest first, as asked for; the last stop of the one VM that the filter names."""
        name = asked.query["filter"].rstrip('")').rpartition("/")[2]
        machine = self.machines.get(name)
        if machine is None or machine.cause is None:
            return Reply(200, {})
        kind = _OPERATIONS[machine.cause]
        other = {"operationType": "setLabels", "insertTime": stamp(machine.clock().wall)}
        stop = {"operationType": kind, "insertTime": stamp(machine.last_stop), "status": "DONE"}
        return Reply(200, {"items": [other, stop]})


class FakeGcpMetadata(FakeServer):
    """The metadata server of a VM."""

    def __init__(self) -> None:
        super().__init__()
        self.token = "ya29.one"
        self.preempted, self.etag = "FALSE", 100

    def announce(self, deadline: datetime) -> None:
        """A stop; it says no time."""
        self._set("TRUE")

    def withdraw(self) -> None:
        """It was nothing."""
        self._set("FALSE")

    def _set(self, value: str) -> None:
        self.preempted, self.etag = value, self.etag + 1

    def answer(self, asked: Asked) -> Reply:
        """A long poll waits for a change, and holds nobody else up."""
        until_s = time.monotonic() + float(asked.query.get("timeout_sec", "0"))
        while self._tag == asked.query.get("last_etag") and time.monotonic() < until_s:
            if self.over.wait(0.01):
                break
        return super().answer(asked)

    @property
    def _tag(self) -> str:
        return f"{self.etag:016x}"

    def handle(self, asked: Asked) -> Reply:
        if asked.headers.get("metadata-flavor") != "Google":
            return Reply(403)
        path = asked.path.removeprefix("/computeMetadata/v1/instance/")
        if path == "service-accounts/default/token":
            token = {"access_token": self.token, "expires_in": 3599, "token_type": "Bearer"}
            return Reply(200, token)
        if path == "preempted":
            return Reply(200, self.preempted, {"ETag": self._tag})
        return Reply(404)
