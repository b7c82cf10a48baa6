"""EC2 on loopback: the query protocol, slow states, spot requests that EC2 alone serves again, and its refusals."""

import fnmatch
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from fakes.machine import Machine
from fakes.server import Asked, FakeServer, Reply

ACCOUNT, REGION, ZONE, TYPE = "111122223333", "eu-west-1", "eu-west-1b", "p5.48xlarge"
_NAMES = {"STARTING": "pending", "RUNNING": "running", "STOPPING": "stopping", "STOPPED": "stopped"}
_REASONS = {
    "preempted": "Server.SpotInstanceShutdown",
    "user": "Client.UserInitiatedShutdown",
    "guest": "Client.InstanceInitiatedShutdown",
    "platform": "Server.ScheduledStop",
}
DENIED = "UnauthorizedOperation"


def error(code: str, status: int = 400) -> Reply:
    """As EC2 puts it."""
    body = (
        f"<Response><Errors><Error><Code>{code}</Code><Message>encoded hunter2</Message></Error>"
        "</Errors><RequestID>r-1</RequestID></Response>"
    )
    return Reply(status, body, {"Content-Type": "text/xml"})


def xml(value: object) -> str:
    """Mappings by their names, lists as items."""
    if isinstance(value, Mapping):
        return "".join(
            f"<{name}>{xml(one)}</{name}>" for name, one in value.items() if one is not None
        )
    if isinstance(value, list):
        return "".join(f"<item>{xml(one)}</item>" for one in value)
    return escape("true" if value is True else "false" if value is False else str(value))


def stamp(moment: datetime | None) -> str | None:
    """As EC2 writes times."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z") if moment is not None else None


class FakeEc2(FakeServer):
    """Instances by id; `policy` is a pasted one; `key_id` is the access key that is good at the moment."""

    def __init__(self, machines: Mapping[str, Machine], policy: Mapping[str, Any]) -> None:
        super().__init__()
        self.machines, self.policy = dict(machines), policy
        self.key_id = "AKIAONE"
        self.is_spot, self.kind, self.on_interruption = True, "persistent", "stop"
        self.shutdown = "stop"
        self.tags: list[dict[str, str]] = []
        self.price: float | None = 3.2
        self.cancelled = False

    def handle(self, asked: Asked) -> Reply:
        form = dict(parse_qsl(asked.body))
        action = form["Action"]
        if f"Credential={self.key_id}/" not in asked.headers.get("authorization", ""):
            return error("ExpiredToken")
        if not self._allowed(action, form.get("InstanceId.1")):
            return error(DENIED, 403)
        if form.get("DryRun") == "true":
            return error("DryRunOperation", 412)
        result = getattr(self, "_" + re.sub(r"(?<!^)(?=[A-Z])", "_", action).lower())(form)
        return result if isinstance(result, Reply) else self._ok(action, result)

    def starts(self) -> int:
        """Requests for a start that were no dry run."""
        return sum(
            "Action=StartInstances" in one.body and "DryRun=true" not in one.body
            for one in self.asked
        )

    def _allowed(self, action: str, instance: str | None) -> bool:
        arn = f"arn:aws:ec2:{REGION}:{ACCOUNT}:instance/{instance or '*'}"
        return any(
            f"ec2:{action}" in _list(one["Action"])
            and any(fnmatch.fnmatchcase(arn, wanted) for wanted in _list(one["Resource"]))
            for one in self.policy["Statement"]
        )

    @staticmethod
    def _ok(action: str, result: object) -> Reply:
        space = "http://ec2.amazonaws.com/doc/2016-11-15/"
        body = f'<{action}Response xmlns="{space}"><requestId>r-1</requestId>{xml(result)}</{action}Response>'
        return Reply(200, body, {"Content-Type": "text/xml"})

    def _describe_instances(self, form: Mapping[str, str]) -> object:
        found = [
            {"reservationId": "r-1", "instancesSet": [self._instance(name, machine)]}
            for name, machine in self._wanted(form)
        ]
        return {"reservationSet": found}

    def _wanted(self, form: Mapping[str, str]) -> Iterator[tuple[str, Machine]]:
        ids = {value for name, value in form.items() if name.startswith("Filter.1.Value.")}
        return ((name, self.machines[name]) for name in sorted(ids) if name in self.machines)

    def _instance(self, name: str, machine: Machine) -> Mapping[str, object]:
        state = machine.state if machine.exists else "GONE"
        word = _NAMES.get(state, "terminated")
        reason = _REASONS.get(machine.cause or "") if state in ("STOPPING", "STOPPED") else None
        if state == "STOPPED" and machine.late_error is not None:
            reason = machine.late_error
        return {
            "instanceId": name,
            "instanceType": TYPE,
            "instanceLifecycle": "spot" if self.is_spot else None,
            "spotInstanceRequestId": f"sir-{name}" if self.is_spot else None,
            "instanceState": {"code": 0, "name": word},
            "stateReason": {"code": reason, "message": reason} if reason else None,
            "launchTime": stamp(machine.launched),
            "placement": {"availabilityZone": ZONE},
            "platformDetails": "Linux/UNIX",
            "privateIpAddress": "10.0.0.7",
            "ipAddress": "192.0.2.7" if state == "RUNNING" else None,
            "tagSet": self.tags,
        }

    def _describe_spot_instance_requests(self, form: Mapping[str, str]) -> object:
        wanted = self._wanted(form) if self.is_spot else ()
        return {"spotInstanceRequestSet": [self._request(name, one) for name, one in wanted]}

    def _request(self, name: str, machine: Machine) -> Mapping[str, object]:
        state, code = self._status(machine)
        return {
            "spotInstanceRequestId": f"sir-{name}",
            "state": "cancelled" if self.cancelled else state,
            "status": {"code": code, "message": code, "updateTime": stamp(machine.in_state_since)},
            "type": self.kind,
            "instanceInterruptionBehavior": self.on_interruption,
            "instanceId": name,
            "productDescription": "Linux/UNIX",
        }

    @staticmethod
    def _status(machine: Machine) -> tuple[str, str]:
        if machine.state == "STOPPING":
            return "active", "marked-for-stop"
        if machine.state != "STOPPED":
            return "active", "fulfilled"
        preempted = machine.cause == "preempted"
        return (
            "disabled",
            "instance-stopped-no-capacity" if preempted else "instance-stopped-by-user",
        )

    def _start_instances(self, form: Mapping[str, str]) -> object:
        machine = self.machines.get(form["InstanceId.1"])
        if machine is None or not machine.exists:
            return error("InvalidInstanceID.NotFound")
        if machine.state in ("STARTING", "RUNNING"):
            return {"instancesSet": []}
        if machine.state == "STOPPING" or (self.is_spot and machine.cause == "preempted"):
            return error("IncorrectSpotRequestState" if self.is_spot else "IncorrectInstanceState")
        answer = machine.start()
        if answer.status != 200:
            return error(str(answer.error), answer.status)
        return {"instancesSet": [{"instanceId": form["InstanceId.1"]}]}

    def _stop_instances(self, form: Mapping[str, str]) -> object:
        machine = self.machines[form["InstanceId.1"]]
        if machine.state == "STARTING":
            return error("IncorrectInstanceState")
        machine.stop("user")
        return {"instancesSet": [{"instanceId": form["InstanceId.1"]}]}

    def _describe_spot_price_history(self, form: Mapping[str, str]) -> object:
        rows = [
            {
                "instanceType": form["InstanceType.1"],
                "productDescription": "Linux/UNIX",
                "spotPrice": f"{self.price:.6f}",
                "timestamp": f"2026-12-01T{hour}:00:00.000Z",
                "availabilityZone": form["AvailabilityZone"],
            }
            for hour in ("09", "08")
            if self.price is not None
        ]
        return {"spotPriceHistorySet": rows, "nextToken": ""}

    def _describe_instance_attribute(self, form: Mapping[str, str]) -> object:
        value = {"value": self.shutdown}
        return {"instanceId": form["InstanceId"], "instanceInitiatedShutdownBehavior": value}


def _list(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


class FakeImds(FakeServer):
    """The metadata service of an EC2 instance, version 2: a token for everything."""

    def __init__(self) -> None:
        super().__init__()
        self.token = "imds-token"
        self.key_id = "AKIAONE"
        self.action: str | None = None  # body of spot/instance-action; None: 404

    def announce(self, deadline: datetime) -> None:
        """A stop at that time."""
        self.action = f'{{"action": "stop", "time": "{deadline.strftime("%Y-%m-%dT%H:%M:%SZ")}"}}'

    def withdraw(self) -> None:
        """It was nothing."""
        self.action = None

    def handle(self, asked: Asked) -> Reply:
        if asked.path == "/latest/api/token":
            return Reply(200, self.token) if asked.method == "PUT" else Reply(405)
        if asked.headers.get("x-aws-ec2-metadata-token") != self.token:
            return Reply(401)
        path = asked.path.removeprefix("/latest/meta-data/")
        if path == "spot/instance-action":
            return Reply(200, self.action) if self.action is not None else Reply(404)
        if path == "iam/security-credentials/":
            return Reply(200, "spoteval-restarter")
        if path == "iam/security-credentials/spoteval-restarter":
            keys = {"AccessKeyId": self.key_id, "SecretAccessKey": "hunter2", "Token": "t"}
            return Reply(200, keys | {"Expiration": "2036-12-01T12:00:00Z"})
        return Reply(404)
