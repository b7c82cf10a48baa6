"""S3 services on loopback, started for tests: moto with its users and policies, SeaweedFS, and a client for neither."""

import copy
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from spoteval.store.keys import AccessKeys
from spoteval.store.place import S3Place
from spoteval.store.s3 import S3Store
from spoteval.store.url import bucket_and_prefix

DOCS = Path(__file__).parent.parent / "docs" / "stores" / "s3.md"
BUCKET, PREFIX, REGION = "evals", "team-a", "eu-north1"
ROLES = ("publisher", "control", "operator", "reader")
LIMIT_S = 60.0
ADMIN = AccessKeys("admin-id", "admin-secret")
"""The key of SeaweedFS that may do everything."""


@dataclass(frozen=True)
class Service:
    """One running service: where it answers, and the key of each role."""

    endpoint: str
    keys: Mapping[str, AccessKeys]
    name: str
    counter: Iterator[int] = field(default_factory=itertools.count)
    made: dict[str, S3Store] = field(default_factory=dict)

    def place(self, role: str, endpoint: str | None = None) -> S3Place:
        """How a role's host names it."""
        return S3Place(endpoint or self.endpoint, REGION, lambda: self.keys[role])

    def store(self, role: str, below: str = "") -> S3Store:
        """The store, or the part of it `below`, as this role sees it. One client for each role: they are dear."""
        if role not in self.made:
            self.made[role] = S3Store(self.url(), self.place(role))
        return self.part(self.made[role], below)

    def part(self, whole: S3Store, below: str) -> S3Store:
        """The same client for a part of the store."""
        part = copy.copy(whole)
        part.url = self.url(below)
        part._prefix = bucket_and_prefix(part.url)[1]
        return part

    def fresh(self, top: str) -> str:
        """A prefix below `top` that nobody used."""
        return f"{top}/t-{next(self.counter)}"

    @staticmethod
    def url(below: str = "") -> str:
        """The URL of the store, or of a part of it."""
        return f"s3://{BUCKET}/{PREFIX}" + (f"/{below}" if below else "")

    def ini(self, role: str) -> str:
        """The key as a file has it."""
        keys = self.keys[role]
        return (
            f"[default]\naws_access_key_id = {keys.access_key_id}\n"
            f"aws_secret_access_key = {keys.secret_access_key}\n"
        )

    def raw(self, role: str) -> Any:
        """A client without our store, for what the store has no word for."""
        return client(self.endpoint, self.keys[role])


def policies() -> dict[str, str]:
    """The policies as docs/stores/s3.md has them; a role without one of its own has that of `control`."""
    found: dict[str, str] = {}
    for section in DOCS.read_text().split("\n### ")[1:]:
        role, block = section.split("`")[1], re.search(r"```json\n(.*?)```", section, re.DOTALL)
        found[role] = block[1] if block else found["control"]
    assert set(found) == set(ROLES)
    return found


def client(endpoint: str, keys: AccessKeys, service: str = "s3") -> Any:
    """A plain botocore client, one attempt a call."""
    config = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
    return botocore.session.get_session().create_client(
        service,  # type: ignore[call-overload]
        region_name=REGION,
        endpoint_url=endpoint,
        aws_access_key_id=keys.access_key_id,
        aws_secret_access_key=keys.secret_access_key,
        config=config,
    )


def free_port() -> int:
    """A port of loopback that nobody has at the moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def program(name: str) -> str:
    """The program beside this interpreter or on PATH; skips, or fails in CI, without it."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        why = f"{name} is not installed (./install.sh test brings it)"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return found


@contextmanager
def running(argv: list[str], log: Path, env: Mapping[str, str]) -> Iterator[None]:
    """A process, killed at the end: nothing of it is kept."""
    with log.open("wb") as out, subprocess.Popen(argv, stdout=out, stderr=out, env=env) as process:
        try:
            yield
        finally:
            process.kill()


def wait_for(endpoint: str, log: Path) -> None:
    """Until something answers HTTP there."""
    until = time.monotonic() + LIMIT_S
    while True:
        try:
            with urllib.request.urlopen(endpoint, timeout=5):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            assert time.monotonic() < until, log.read_text(errors="replace")[-2000:]
            time.sleep(0.05)


@contextmanager
def moto(folder: Path) -> Iterator[Service]:
    """moto with the roles' users: signatures and policies are enforced once they are made."""
    endpoint, log = f"http://127.0.0.1:{(port := free_port())}", folder / "moto.log"
    argv = [program("moto_server"), "-H", "127.0.0.1", "-p", str(port)]
    calls = 1 + 3 * len(ROLES)  # what follows below, and not one more
    with running(argv, log, os.environ | {"INITIAL_NO_AUTH_ACTION_COUNT": str(calls)}):
        wait_for(f"{endpoint}/moto-api/data.json", log)
        anybody = AccessKeys("anybody", "anything")
        client(endpoint, anybody).create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        iam = client(endpoint, anybody, "iam")
        yield Service(endpoint, {role: _user(iam, role) for role in ROLES}, "moto")


def _user(iam: Any, role: str) -> AccessKeys:
    """A user with the role's policy, and a key of it."""
    iam.create_user(UserName=role)
    iam.put_user_policy(UserName=role, PolicyName=role, PolicyDocument=policies()[role])
    key = iam.create_access_key(UserName=role)["AccessKey"]
    return AccessKeys(key["AccessKeyId"], key["SecretAccessKey"])


@contextmanager
def seaweed(folder: Path, metrics: int | None = None) -> Iterator[Service]:
    """SeaweedFS, which also holds digests and clocks against what was sent. `metrics`: the port of its counters."""
    parts = ("s3", "master", "volume", "filer", "admin")
    ports = {f"{part}.{kind}": free_port() for part in parts for kind in ("port", "port.grpc")}
    endpoint = f"http://127.0.0.1:{ports['s3.port']}"
    log, data = folder / "weed.log", folder / "weed"
    data.mkdir()
    config = folder / "weed.json"
    config.write_text(json.dumps({"identities": [_identity("admin", ADMIN, ["Admin"])]}))
    argv = [program("weed"), "-logtostderr=true", "mini", f"-dir={data}", "-ip=127.0.0.1"]
    argv += ["-ip.bind=127.0.0.1", "-admin.ui=false", "-webdav=false", "-master.telemetry=false"]
    argv += ["-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.iam.readOnly=false"]
    argv += [f"-s3.config={config}"]
    argv += [f"-{name}={port}" for name, port in ports.items()]
    argv += [] if metrics is None else [f"-metricsPort={metrics}"]
    with running(argv, log, {"PATH": os.environ["PATH"], "HOME": str(folder)}):
        wait_for(endpoint, log)
        plain = client(endpoint, ADMIN)
        _first_put(plain, log)
        iam = client(endpoint, ADMIN, "iam")
        yield Service(endpoint, {role: _user(iam, role) for role in ROLES}, "seaweed")


def _identity(name: str, keys: AccessKeys, actions: list[str]) -> dict[str, object]:
    pair = {"accessKey": keys.access_key_id, "secretKey": keys.secret_access_key}
    return {"name": name, "credentials": [pair], "actions": actions}


def _first_put(plain: Any, log: Path) -> None:
    """It answers before its volumes can take anything."""
    until = time.monotonic() + LIMIT_S
    while True:
        try:
            with_bucket = [item["Name"] for item in plain.list_buckets()["Buckets"]]
            if BUCKET not in with_bucket:
                plain.create_bucket(Bucket=BUCKET)
            plain.put_object(Bucket=BUCKET, Key="probe", Body=b"x")
            return
        except (BotoCoreError, ClientError):
            assert time.monotonic() < until, log.read_text(errors="replace")[-2000:]
            time.sleep(0.1)
