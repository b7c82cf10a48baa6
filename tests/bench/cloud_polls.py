"""One poll of a thousand instances: a third each at AWS, GCP and Azure, all of them running."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

from bench.faces import HEAD, in_directory, prepare
from fakes import aws, azure, gcp
from fakes.machine import Machine
from fakes.policy import pasted_json
from spoteval.clock import read_now

INSTANCES = 1000
Place = Callable[[Path], AbstractContextManager[str]]


def over_files(root: Path) -> AbstractContextManager[str]:
    """The store is the directory itself."""
    return nullcontext(in_directory(root))


def polled_clouds(instances: int = INSTANCES, store: Place = over_files) -> dict[str, Any]:
    """Figures of the polling process, and how many requests reached the fakes. `store`: gives the keys of [store]."""
    names = [f"gpu-{number}" for number in range(instances)]
    parts = [names[0::3], names[1::3], names[2::3]]
    machines = [{_id(kind, name): _running() for name in part} for kind, part in enumerate(parts)]
    actions = set(pasted_json("azure", "Role")["Actions"])
    policy = pasted_json("aws", "Policy")
    policy["Statement"][1]["Resource"] = "*"
    ec2, imds = aws.FakeEc2(machines[0], policy), aws.FakeImds()
    gce = gcp.FakeGce(machines[1], set(pasted_json("gcp", "Role")["includedPermissions"]))
    arm, hosts = (
        azure.FakeArm(machines[2], actions),
        (gcp.FakeGcpMetadata(), azure.FakeAzureMetadata()),
    )
    arm.whole_subscription = True
    with tempfile.TemporaryDirectory(prefix="spoteval-bench-") as scratch, ExitStack() as stack:
        for fake in (ec2, imds, gce, arm, *hosts):
            stack.enter_context(fake.listening())
        root = Path(scratch)
        prepare(root, names, read_now().wall)
        urls = ((ec2.url, imds.url), (gce.url, hosts[0].url), (arm.url, hosts[1].url))
        keys = stack.enter_context(store(root))
        text = HEAD.format(store=keys) + "".join(_tables(parts, urls))
        (root / "config.toml").write_text(text)
        found = _child(root)
    requests = {"aws": len(ec2.asked), "gcp": len(gce.asked), "azure": len(arm.asked)}
    return {"instances": instances, **found, "requests": sum(requests.values()), **requests}


def _child(root: Path) -> dict[str, float]:
    program = Path(__file__).with_name("restarter")
    plain = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        [sys.executable, str(program), "--child", str(root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        env=plain | {"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"},
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _id(kind: int, name: str) -> str:
    return f"i-{int(name[4:]):017x}" if kind == 0 else name


def _running() -> Machine:
    machine = Machine(read_now)
    machine.since_s = read_now().mono_s
    machine.runs()
    return machine


def _tables(parts: list[list[str]], urls: tuple[tuple[str, str], ...]) -> Iterator[str]:
    price = 'price = { amount = 3.2, currency = "USD", per = "hour", as_of = 2026-11-20 }'
    for kind, (part, (url, metadata)) in enumerate(zip(parts, urls, strict=True)):
        own = f'{price}\nendpoint_url = "{url}"\nmetadata_url = "{metadata}"\n'
        for name in part:
            yield f"[instance.{name}]\n{_keys(kind, name)}\n{own}"


def _keys(kind: int, name: str) -> str:
    if kind == 0:
        return f'provider = "aws"\nid = "{_id(0, name)}"\nregion = "{aws.REGION}"'
    if kind == 1:
        return f'provider = "gcp"\nid = "{name}"\nproject = "{gcp.PROJECT}"\nzone = "{gcp.ZONE}"'
    return f'provider = "azure"\nid = "{azure.vm_id(name)}"'
