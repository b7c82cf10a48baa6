"""Two hosts in a directory, and a person who types on them."""

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from spoteval.cli.root import root as spoteval
from spoteval.clock import read_now
from spoteval.files import write_new_record, write_record
from spoteval.machine.session import this_session
from spoteval.paths import DurablePaths, InstancePaths
from spoteval.store.file import FileStore

INSTANCE = "gpu-1"


@dataclass(frozen=True)
class Typed:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Its output by lines."""
        return self.out.splitlines()

    @property
    def record(self) -> dict[str, Any]:
        """The JSON object that it printed."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


@dataclass(frozen=True)
class Hosts:
    """A guest, a restarter host, a store and a local cloud below one directory."""

    base: Path

    @property
    def disk(self) -> DurablePaths:
        """The guest's durable disk."""
        return DurablePaths(self.base / "node" / "durable")

    @property
    def store(self) -> FileStore:
        """The store."""
        return FileStore(self.base / "store")

    @property
    def cloud(self) -> Path:
        """The instance in the local cloud."""
        return self.base / "cloud" / INSTANCE

    @property
    def instance(self) -> InstancePaths:
        """What the restarter host keeps."""
        return InstancePaths(self.base / "restarter" / "state", INSTANCE)

    def guest(self, *words: str, **env: str) -> Typed:
        """Type `spoteval WORDS` on the guest."""
        return typed(words, {**self.environment("node"), **env})

    def restarter(self, *words: str, **env: str) -> Typed:
        """Type it on the restarter host."""
        return typed(words, {**self.environment("restarter"), **env})

    def laptop(self, *words: str, **env: str) -> Typed:
        """Type it on a laptop that knows the store."""
        elsewhere = {"SPOTEVAL_STORE": self.store.url, **env}
        return typed(words, {**self.environment("laptop"), "SPOTEVAL_CONFIG": None, **elsewhere})

    def environment(self, host: str) -> dict[str, str | None]:
        """The variables of a command on that host."""
        return {
            "SPOTEVAL_CONFIG": str(self.base / host / "config.toml"),
            "SPOTEVAL_RUN_DIRECTORY": str(self.base / host / "run"),
            "SPOTEVAL_STATE_DIRECTORY": str(self.base / host / "state"),
            "SPOTEVAL_CREDENTIALS_DIRECTORY": str(self.base / host / "credentials"),
            "SPOTEVAL_STORE": None,
            "SUDO_USER": "ana",
        }

    def configure(self, host: str, text: str) -> None:
        """Write the host file."""
        path = self.base / host / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def booted(self, seq: int = 1) -> str:
        """Record this boot as boot-resume does; returns its session."""
        session = this_session(self.base / "node" / "run" / "session", read_now().boot).id
        write_record(self.disk.boot, {"seq": seq, "session": session})
        return session

    def stored(self, prefix: str = "") -> list[str]:
        """The keys of the store."""
        return [item.key for item in self.store.list(prefix)]


def typed(words: tuple[str, ...], env: Mapping[str, str | None]) -> Typed:
    """Type a command."""
    separate = "mix_stderr" in inspect.signature(CliRunner).parameters  # before click 8.2
    make: Any = CliRunner  # its stubs know only the newest click
    runner = make(mix_stderr=False) if separate else make()
    result = runner.invoke(spoteval, list(words), env=env)
    return Typed(result.exit_code, result.stdout, result.stderr)


def guest_file(base: Path, more: str = "", run: str = 'settlement = "fresh_budget"') -> str:
    """The guest's host file: harness `directory`, whose executable knows its version."""
    return f"""\
[host]
role = "guest"
instance = "{INSTANCE}"
[provider]
kind = "local"
cloud = "{base / "cloud" / INSTANCE}"
[disk]
path = "{base / "node" / "durable"}"
identity = "sentinel"
min_free = "1MB"
[store]
url = "file://{base / "store"}"
[run]
harness = "directory"
executable = "{base / "harness"}"
expected = 3
{run}
{more}
"""


def restarter_file(base: Path, instance: str = "", more: str = "") -> str:
    """The restarter's host file."""
    return f"""\
[host]
role = "restarter"
[store]
url = "file://{base / "store"}"
[instance.{INSTANCE}]
provider = "local"
id = "{INSTANCE}"
cloud = "{base / "cloud" / INSTANCE}"
{instance}
[poll]
every = "1s"
start_window = "7s"
{more}
"""


def made_hosts(base: Path) -> Hosts:
    """Both hosts, set up, the disk proved, nothing running."""
    hosts = Hosts(base)
    for directory in ("store", f"cloud/{INSTANCE}", "node/run", "node/durable"):
        (base / directory).mkdir(parents=True)
    (base / "restarter" / "state" / "holds").mkdir(parents=True)
    (base / "laptop").mkdir()
    hosts.configure("node", guest_file(base))
    hosts.configure("restarter", restarter_file(base))
    sentinel = {"instance": INSTANCE, "identity": "sentinel", "uuid": None}
    write_new_record(hosts.disk.sentinel, sentinel)
    (base / "harness").write_text("#!/bin/sh\necho harness 1.2.3\n")
    (base / "harness").chmod(0o755)
    return hosts
