"""What a person brings to a guest of the lab: a user, an evaluation, a model server of their own, and host files."""

import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.root import HARNESS, ROOT

MODEL = "stand-in"
_SERVER = """\
[Unit]
Description=the model server of whoever evaluates here
[Service]
User=eval
LoadCredential=model-key:/etc/spoteval/credentials/model-key
Environment=PYTHONPATH=/opt/eval/lib
ExecStart=python3 -m spoteval.local.model_server --port {port} --model {model} \
    --load 1 --delay {delay} --key-file %d/model-key
[Install]
WantedBy=multi-user.target
"""
# What the evaluation does before it begins, where there is something of the kind.
_BEFORE = "[ ! -e ./before ] || sh ./before\n"
# A harness that the polite signals do not end: what a person's own sandbox may do.
_TRAPS = {"INT": "", "TERM": "trap '' INT\n", "KILL": "trap '' INT TERM\n"}
_GUEST = """\
[host]
role = "guest"
instance = "gpu-1"
[disk]
path = "/mnt/durable"
identity = "uuid"
uuid = "{uuid}"
[provider]
kind = "command"
notice_window = "{window_s:g}s"
[store]
{store}
"""
# What a person adds below, whoever wrote what stands above.
_OWN = """\
[publication]
every = "2s"
[[server]]
name = "policy"
unit = "policy.service"
url = "http://127.0.0.1:{port}"
kind = "openai"
model = "{model}"
credential = "model-key"
ready_within = "2min"
[run]
harness = "inspect"
user = "eval"
directory = "/mnt/durable/evals"
executable = "/mnt/durable/evals/inspect"
args = ["task.py@demo", "--model", "openai-api/local/{model}", "-T", "n={episodes}", "-T", "turns={turns}"]
concurrency = 3
expected = {episodes}
settlement = "fresh_budget"
[run.env]
PYTHONPATH = "/opt/eval/lib"
LOCAL_BASE_URL = "http://127.0.0.1:{port}/v1"
SPOTEVAL_WITNESS = "/mnt/durable/evals/witness"
HF_HUB_OFFLINE = "1"
[run.secret_env]
LOCAL_API_KEY = "model-key"
[idle]
after = "{idle}"
gpu = false
every = "1s"
# The counters of these machines are those of the host they share, with all that its other tenants do.
cpu_above = "100%"
io_above = "100GB/s"
[end]
on_complete = "power-off"
publish_within = "2min"
"""
_RESTARTER = """\
[host]
role = "restarter"
[store]
{store}
[instance.gpu-1]
provider = "local"
id = "gpu-1"
cloud = "/srv/cloud"
"""
_POLL = """\
[poll]
every = "{every}"
in_motion = "1s"
grace = "{grace}"
start_window = "20s"
backoff_max = "4s"
short_run = "2s"
# Every life here is shorter than the weather that the rules take for a fault.
[grant]
preemptions_before_healthy = 20
preemptions_before_episodes = {{ preemptions = 20, episodes = 1 }}
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """How the machines are set up: the times are shorter than a person's, the rest is a person's."""

    window_s: float = 60.0
    episodes: int = 12
    turns: int = 3
    delay_s: float = 0.4
    ignores: str = "INT"  # INT: ends at SIGINT; TERM: ignores it; KILL: ignores TERM too
    idle: str = "10min"
    every: str = "2s"
    grace: str = "2s"


def guest_file(plan: Plan, store: str, uuid: str, port: int) -> str:
    """/etc/spoteval/config.toml of the guest. `store`: the lines of its table [store]."""
    head = _GUEST.format(store=store, uuid=uuid, window_s=plan.window_s)
    return head + guest_own(plan, port)


def guest_own(plan: Plan, port: int) -> str:
    """What only a person knows: server, run, and shorter times than the defaults."""
    return _OWN.format(
        port=port, model=MODEL, episodes=plan.episodes, turns=plan.turns, idle=plan.idle
    )


def restarter_file(plan: Plan, store: str) -> str:
    """/etc/spoteval/config.toml of the restarter host."""
    return _RESTARTER.format(store=store) + restarter_own(plan)


def restarter_own(plan: Plan) -> str:
    """Shorter times than the defaults."""
    return _POLL.format(every=plan.every, grace=plan.grace)


def bring(root: Path, durable: Path, plan: Plan, port: int) -> None:
    """The evaluation, its environment and its model server, before spoteval is there."""
    library = root / "opt" / "eval" / "lib"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "common" / "spoteval", library / "spoteval", ignore=ignored)
    evals = durable / "evals"
    evals.mkdir()
    shutil.copy(ROOT / "common" / "spoteval" / "local" / "demo_task.py", evals / "task.py")
    harness = evals / "inspect"
    harness.write_text(
        f'#!/bin/sh\n{_BEFORE}{_TRAPS[plan.ignores]}exec {HARNESS}/bin/inspect "$@"\n'
    )
    harness.chmod(0o755)
    text = _SERVER.format(port=port, model=MODEL, delay=plan.delay_s)
    (root / "etc" / "systemd" / "system" / "policy.service").write_text(text)
    key = root / "root" / "model-key"
    key.write_text(secrets.token_hex(16))
    key.chmod(0o600)
