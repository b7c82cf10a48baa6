"""What a person brings to a machine that will lose power: a user, a program, a model server, and a host file."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from power.worlds import KEYS, URL
from s3_server import REGION

RUN, MODEL, INSTANCE = "cut-1", "stand-in", "gpu-1"
PROGRAM = "/opt/lab/episodes.py"
AGENTS = ("shutdown-hook", "publication-follower", "boot-resume", "idle-guard", "end-handler")
UNITS = tuple(f"spoteval-{agent}.service" for agent in AGENTS)
HERE = Path(__file__).resolve().parent
_FILE = """\
[host]
role = "guest"
instance = "{instance}"
[disk]
path = "/mnt/durable"
identity = "uuid"
uuid = "{uuid}"
min_free = "1MB"
[provider]
kind = "command"
notice_window = "{window}"
[store]
url = "{url}"
endpoint_url = "{endpoint}"
region = "{region}"
credential = "publisher"
[publication]
every = "2s"
[[server]]
name = "policy"
unit = "policy.service"
url = "http://127.0.0.1:{port}"
kind = "openai"
model = "{model}"
credential = "model-key"
ready_within = "10min"
[run]
harness = "directory"
user = "eval"
directory = "/mnt/durable/evals"
executable = "/usr/bin/python3"
args = ["{program}", "{episodes}", "3"]
concurrency = 3
expected = {episodes}
settlement = "fresh_budget"
{deadline}[idle]
after = "{idle}"
gpu = false
every = "{look}"
logins_count = false
# Of machines by nspawn the counters are those of the host that they share.
cpu_above = "100%"
io_above = "100GB/s"
[end]
on_complete = "power-off"
publish_within = "{publish}"
"""
_SERVER = """\
[Unit]
Description=the model server of whoever evaluates here
[Service]
User=eval
LoadCredential=model-key:/etc/spoteval/credentials/model-key
EnvironmentFile=/etc/lab-server
ExecStart=python3 -m spoteval.local.model_server --port ${PORT} --model stand-in --load ${LOAD} --key-file %d/model-key
[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a machine is set up. `pace` shortens the episodes, `load_s` is that of the model server, `look` how often the
    idle-guard looks."""

    episodes: int = 18
    stubborn_s: float = 2.0
    pace: float = 1.0
    load_s: float = 3.0
    idle: str = "10min"
    window: str = "60s"
    look: str = "30s"
    publish: str = "2min"
    deadline: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """Where a machine finds its store, its model server and its disk."""

    endpoint: str
    port: int
    uuid: str


def bring(root: Path) -> None:
    """The program and the model server's unit, before spoteval is set up."""
    (root / "opt" / "lab").mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "episodes.py", root / PROGRAM.lstrip("/"))
    (root / "etc" / "systemd" / "system" / "policy.service").write_text(_SERVER)


def configure(root: Path, plan: Plan, link: Link) -> None:
    """The host file, the keys, and what the lab's own programs read."""
    etc = root / "etc"
    deadline = f"deadline = {plan.deadline}\n" if plan.deadline else ""
    text = _FILE.format(
        instance=INSTANCE,
        uuid=link.uuid,
        url=URL,
        endpoint=link.endpoint,
        region=REGION,
        port=link.port,
        model=MODEL,
        program=PROGRAM,
        episodes=plan.episodes,
        deadline=deadline,
        idle=plan.idle,
        window=plan.window,
        look=plan.look,
        publish=plan.publish,
    )
    keys = etc / "spoteval" / "credentials"
    keys.mkdir(parents=True, exist_ok=True)
    (etc / "spoteval" / "config.toml").write_text(text)
    (etc / "lab-pace").write_text(f"{plan.pace} {plan.stubborn_s}\n")
    (etc / "lab-server").write_text(f"PORT={link.port}\nLOAD={plan.load_s}\n")
    own = f"aws_access_key_id = {KEYS.access_key_id}\naws_secret_access_key = {KEYS.secret_access_key}"
    for name, secret in {
        "publisher": f"[default]\n{own}\n",
        "model-key": "0123456789abcdef",
    }.items():
        (keys / name).write_text(secret)
        (keys / name).chmod(0o600)
