"""Runpod on loopback: REST v2, GraphQL whose errors come with 200, starts without GPUs."""

import re
from collections.abc import Mapping
from typing import Any

from fakes.machine import Machine
from fakes.server import Asked, FakeServer, Reply

KEY, GPU = "rpa_one", "NVIDIA A100 80GB PCIe"
ACTIONS: Mapping[str, list[str]] = {
    "EXITED": ["start", "terminate"],
    "RUNNING": ["stop", "restart", "terminate"],
    "STARTING": ["stop", "terminate"],
}
_CHANGES = {
    "user": "Exited by user",
    "preempted": "Exited by Runpod",
    "platform": "Exited by Runpod",
    "guest": "Exited by user",
}
TEXTS: Mapping[str, str] = {
    "host": "There are not enough free GPUs on the host machine to start this pod.",
    "none": "There are no longer any instances available with the request specifications.",
    "vague": "Something went wrong. Please try again later or contact support.",
    "spot": "Cannot resume a spot pod as an on demand pod.",
    "low": "The bid price is lower than the minimum bid: hunter2",
    "balance": "Your balance is too low: hunter2",
}


def problem(
    status: int, detail: str = "hunter2", headers: Mapping[str, str] | None = None
) -> Reply:
    """RFC 9457."""
    body = {"title": "Problem", "status": status, "detail": detail}
    own = {"Content-Type": "application/problem+json"}
    return Reply(status, body, own | dict(headers or {}))


def errors(text: str) -> Reply:
    """GraphQL's way: all is well, but for what is in it."""
    return Reply(200, {"errors": [{"message": text, "extensions": {"code": "X"}}], "data": None})


class FakeRunpod(FakeServer):
    """Pods by id; `scopes` are those of the key: `none`, `read` or `write` for each API."""

    def __init__(self, machines: Mapping[str, Machine], scopes: dict[str, str]) -> None:
        super().__init__()
        self.machines, self.scopes = dict(machines), scopes
        self.key = KEY
        self.interruptible, self.locked, self.has_gpus, self.pinned = False, False, True, True
        self.mounts: Mapping[str, Any] = {"network": [{"volumeId": "v-1", "path": "/workspace"}]}
        self.price: float | None = 3.2
        self.minimum_bid = 1.5

    def handle(self, asked: Asked) -> Reply:
        if asked.headers.get("authorization") != f"Bearer {self.key}":
            return problem(401)
        if asked.path == "/graphql":
            return self._graphql(asked.table)
        if self.scopes["REST"] == "none":
            return problem(403)
        if asked.path == "/v2/pods":
            return Reply(200, {"pods": [self._pod(*one) for one in self.machines.items()]})
        match = re.fullmatch(r"/v2/pods/([^/]+)(/action)?", asked.path)
        if match is None:
            return problem(404)
        machine = self.machines.get(match[1])
        if machine is None:
            return problem(404, "pod not found")
        return (
            self._act(machine, asked.table)
            if match[2]
            else Reply(200, self._pod(match[1], machine))
        )

    def starts(self) -> int:
        """Requests for a start, whichever API they came to."""
        bids = sum("podBidResume" in one.body for one in self.asked)
        return bids + sum('"start"' in one.body for one in self.asked)

    def _act(self, machine: Machine, body: Any) -> Reply:
        if self.scopes["REST"] != "write":
            return problem(403)
        action = body.get("action")
        if action not in ("start", "stop", "restart", "terminate"):
            return problem(422)
        if action not in ACTIONS[self._status(machine)]:
            return problem(409, "action is not valid in this status")
        if action == "stop":
            machine.stop("user")
        elif self.interruptible:
            return problem(400, TEXTS["spot"])
        else:
            answer = machine.start()
            if answer.status != 200:
                text = TEXTS.get(str(answer.error), str(answer.error))
                return problem(answer.status, text)
        return Reply(200, self._pod("pod-1", machine))

    def _graphql(self, asked: Any) -> Reply:
        query, variables = str(asked["query"]), asked["variables"]
        if self.scopes["GraphQL"] == "none":
            return errors("Unauthorized")
        if "podBidResume" in query:
            return self._bid(variables)
        if "gpuTypes" in query:
            lowest = {"minimumBidPrice": self.minimum_bid, "uninterruptablePrice": self.price}
            return Reply(200, {"data": {"gpuTypes": [{"lowestPrice": lowest}]}})
        machine = self.machines.get(variables["id"])
        return Reply(200, {"data": {"pod": None if machine is None else self._told(machine)}})

    def _bid(self, variables: Any) -> Reply:
        if self.scopes["GraphQL"] != "write":
            return errors("Unauthorized")
        if float(variables["bid"]) < self.minimum_bid:
            return errors(TEXTS["low"])
        machine = self.machines[variables["id"]]
        answer = machine.start()
        if answer.status != 200:
            return errors(TEXTS.get(str(answer.error), str(answer.error)))
        found = {"id": variables["id"], "desiredStatus": "RUNNING"}
        return Reply(200, {"data": {"podBidResume": found}})

    def _told(self, machine: Machine) -> Mapping[str, object]:
        cause = machine.cause
        text = f"{_CHANGES[cause]}: {machine.in_state_since:%c}" if cause else "Rented by User: x"
        kind = "INTERRUPTABLE" if self.interruptible else "RESERVED"
        return {"podType": kind, "lastStatusChange": text}

    def _status(self, machine: Machine) -> str:
        """A pod that is told to stop has already exited; one that is asked for is starting, whatever comes."""
        return {"STOPPED": "EXITED", "STOPPING": "EXITED"}.get(machine.state, machine.state)

    def _pod(self, name: str, machine: Machine) -> Mapping[str, Any]:
        status = self._status(machine)
        runs = status == "RUNNING"
        gpus = [{"id": "GPU-0"}] if self.has_gpus else []
        port = {"ip": "203.0.113.9", "privatePort": 22, "publicPort": 20123}
        return {
            "id": name,
            "name": name,
            "status": status,
            "actions": ACTIONS[status] if self.pinned else ["terminate"],
            "mounts": self.mounts,
            "gpu": {"id": GPU, "count": 1},
            "cloud": "SECURE",
            "cost": (self.price or 0.0) if runs else 0,
            "locked": self.locked,
            "runtime": {"uptime": 5, "gpus": gpus, "ports": [port]} if runs else None,
            "startedAt": machine.last_start.isoformat() if machine.last_start else None,
        }
