"""What the demo writes before it starts: two host files, a disk, a key, a model server unit."""

import json
import secrets
import shlex
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from spoteval.files import write_new_record, write_whole

INSTANCE = "gpu-1"
RUN = "demo"
MODEL = "stand-in"
EPISODES = 24
SLOTS = 4


@dataclass(frozen=True, slots=True)
class DemoPaths:
    """The demo's directory."""

    root: Path

    @property
    def store(self) -> Path:
        """The object store, `file://`."""
        return self.root / "store"

    @property
    def store_url(self) -> str:
        """Where a client finds it."""
        return f"file://{quote(str(self.store))}"

    @property
    def node(self) -> Path:
        """The guest's root: config, durable disk, run directory, journal."""
        return self.root / "node"

    @property
    def durable(self) -> Path:
        """The durable disk."""
        return self.node / "durable"

    @property
    def restarter(self) -> Path:
        """The restarter host's root."""
        return self.root / "restarter"

    @property
    def cloud(self) -> Path:
        """The local cloud."""
        return self.root / "cloud"

    @property
    def history(self) -> Path:
        """What the market did: the truth that the product's records are held against."""
        return self.cloud / INSTANCE / "history.jsonl"

    @property
    def witness(self) -> Path:
        """Where episodes themselves write that they begin and end."""
        return self.root / "witness.log"

    @property
    def pulled(self) -> Path:
        """The run, pulled from the store alone."""
        return self.root / "pulled"


def units_directory(checkout: Path = Path(__file__).parents[3]) -> Path:
    """The product's unit files: in a checkout, else where the wheel put them."""
    in_checkout = checkout / "units"
    return in_checkout if in_checkout.is_dir() else Path(sys.prefix) / "share/spoteval/units"


def prepare(paths: DemoPaths, port: int, at: datetime) -> None:
    """Write everything that a person would have set up; raises OSError."""
    for directory in (
        paths.store,
        paths.durable,
        paths.cloud,
        paths.node / "credentials",
        paths.restarter,
    ):
        directory.mkdir(parents=True, exist_ok=True)
    (paths.restarter / "state" / "holds").mkdir(parents=True, exist_ok=True)
    write_whole(paths.node / "credentials" / "model-key", secrets.token_hex(16).encode(), 0o600)
    write_whole(paths.node / "config.toml", _guest(paths, port).encode())
    write_whole(paths.restarter / "config.toml", _restarter(paths).encode())
    write_whole(paths.node / "units" / "stand-in.service", _model_server(paths, port).encode())
    write_whole(paths.root / "env", _environment(paths).encode())
    write_new_record(
        paths.durable / ".spoteval-disk.json",
        {"instance": INSTANCE, "identity": "sentinel", "created": at.isoformat()},
    )


def host_environment(root: Path) -> dict[str, str]:
    """The variables that make a command speak of one of the demo's hosts."""
    return {
        "SPOTEVAL_CONFIG": str(root / "config.toml"),
        "SPOTEVAL_RUN_DIRECTORY": str(root / "run"),
        "SPOTEVAL_STATE_DIRECTORY": str(root / "state"),
        "SPOTEVAL_CREDENTIALS_DIRECTORY": str(root / "credentials"),
    }


def _guest(paths: DemoPaths, port: int) -> str:
    return f"""\
# The demo's guest. Times are short because nobody waits an hour for a demo.
[host]
role = "guest"
instance = "{INSTANCE}"

[disk]
path = {_text(paths.durable)}
identity = "sentinel"
min_free = "10MB"

[provider]
kind = "local"
cloud = {_text(paths.cloud / INSTANCE)}
notice_window = "8s"

[store]
url = "{paths.store_url}"

[publication]
every = "2s"

[[server]]
name = "policy"
unit = "stand-in.service"
url = "http://127.0.0.1:{port}"
kind = "openai"
model = "{MODEL}"
credential = "model-key"
ready_within = "2min"

[run]
harness = "inspect"
directory = {_text(Path(__file__).parents[1] / "local")}
executable = {_text(Path(sys.prefix) / "bin/inspect")}
args = ["demo_task.py", "--model", "openai-api/local/{MODEL}", "-T", "n={EPISODES}"]
concurrency = {SLOTS}
expected = {EPISODES}
settlement = "fresh_budget"

[run.env]
LOCAL_BASE_URL = "http://127.0.0.1:{port}/v1"
SPOTEVAL_WITNESS = {_text(paths.witness)}
HF_HUB_OFFLINE = "1"

[run.secret_env]
LOCAL_API_KEY = "model-key"

[idle]
after = "5min"
every = "1s"

[end]
on_complete = "power-off"
publish_within = "1min"
"""


def _restarter(paths: DemoPaths) -> str:
    return f"""\
# The demo's restarter host.
[host]
role = "restarter"

[store]
url = "{paths.store_url}"

[instance.{INSTANCE}]
provider = "local"
id = "{INSTANCE}"
cloud = {_text(paths.cloud / INSTANCE)}

[poll]
every = "1s"
in_motion = "500ms"
grace = "1s"
start_window = "7s"
backoff_max = "2s"
short_run = "1s"            # a life of seconds is the demo's weather, not a crash: no loop guard

[grant]                     # a demo's boots live for seconds: the rules for days would end it
preemptions_before_healthy = "off"
preemptions_before_episodes = "off"
price_cap = {{ amount = 4.00, currency = "USD", per = "hour" }}
"""


def _model_server(paths: DemoPaths, port: int) -> str:
    key = shlex.quote(str(paths.node / "credentials" / "model-key"))
    return f"""\
[Unit]
Description=Stand-in for a model server: answers by rule, there is no model behind it

[Service]
ExecStart=python -m spoteval.local.model_server --port {port} --model {MODEL} --load 2.5 --delay 1.2 --key-file {key}
Restart=on-failure
RestartSec=1s

[Install]
WantedBy=multi-user.target
"""


def _environment(paths: DemoPaths) -> str:
    """Shell lines that let a person look around after the demo: `. demo/env`."""
    values = host_environment(paths.restarter).items()
    lines = [f"export {key}={shlex.quote(value)}" for key, value in values]
    programs = shlex.quote(str(Path(sys.prefix) / "bin"))
    return "\n".join([f"export PATH={programs}:$PATH", *lines]) + "\n"


def _text(path: Path) -> str:
    """A path as TOML writes it: its strings escape as JSON's do."""
    return json.dumps(str(path), ensure_ascii=False)
