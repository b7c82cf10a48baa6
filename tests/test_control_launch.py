"""control.launch and `run exec`: what the harness becomes, with which environment."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from guest_world import PLAN, RECORD, Guest, guest
from spoteval.control.launch import KEPT, launched
from spoteval.harness.contract import Command

KEY = "sk-very-secret-2"
OURS = {
    "PATH": "/usr/bin",
    "TZ": "UTC",
    "SPOTEVAL_UNIT": "/node:spoteval-run.service",
    "SPOTEVAL_CONFIG": "/etc/x",
    "CREDENTIALS_DIRECTORY": "/run/credentials/x",
    "NOTIFY_SOCKET": "/run/n",
    "AWS_SECRET_ACCESS_KEY": "no",
}
# A shell says what it was given; Python would first change what it does about signals.
# The shell reads its own status by itself: while it forks it blocks every signal for a moment.
TELL = """#!/bin/sh
masks() { while read -r line; do case $line in SigBlk*|SigIgn*) echo "$line";; esac; done; }
{ pwd; masks < /proc/$$/status; env; } > "$1"
"""


def test_the_environment_is_small_and_whole() -> None:
    """What is kept of ours, the adapter's values, the secrets; the unit's mark stays, credentials' places do not."""
    command = Command(("inspect",), {"HOME": "/w/home", "TZ": "CET"}, Path("/w"))
    found = launched(command, OURS, {"LOCAL_API_KEY": KEY})
    assert found == replace(
        command,
        env={
            "PATH": "/usr/bin",
            "TZ": "CET",
            "SPOTEVAL_UNIT": "/node:spoteval-run.service",
            "HOME": "/w/home",
            "LOCAL_API_KEY": KEY,
        },
    )


def test_nothing_is_kept_that_names_our_own_files() -> None:
    """An agent under evaluation has a shell."""
    assert not [name for name in KEPT if "SPOTEVAL" in name or "CREDENTIALS" in name]


def told_by_the_harness(made: Guest, tmp_path: Path) -> list[str]:
    """Run `run exec` with SIGINT spoilt; returns the lines that the harness wrote."""
    said, program = tmp_path / "said", tmp_path / "harness.sh"
    program.write_text(TELL)
    program.chmod(0o755)
    secret = made.paths.credentials / "model-key"
    secret.write_text(KEY)
    secret.chmod(0o600)
    plan = replace(
        PLAN, executable=str(program), args=(str(said),), secret_env={"LOCAL_API_KEY": "model-key"}
    )
    made.activate(replace(RECORD, plan=plan))
    done = run_exec(made)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return said.read_text().splitlines()


def run_exec(made: Guest) -> "subprocess.CompletedProcess[str]":
    """`spoteval run exec` in a process with SIGINT ignored, as a shell's `cmd &` leaves it."""
    roots = os.pathsep.join(str(Path(__file__).parents[1] / part) for part in ("common", "agents"))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": roots, **made.environment}
    return subprocess.run(
        [sys.executable, "-c", "from spoteval.cli import main; main()", "run", "exec"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )


@pytest.mark.runs("execve must be seen from the other side")
def test_the_harness_hears_sigint_and_finds_its_home_on_the_durable_disk(tmp_path: Path) -> None:
    """Signals have their defaults, the secret is in the environment alone, our own files are not named."""
    made = guest(tmp_path / "node")
    cwd, *lines = told_by_the_harness(made, tmp_path)
    assert cwd == str(made.run.work)
    masks = dict(line.split() for line in lines[:2])
    assert [int(mask, 16) for mask in masks.values()] == [0, 0]
    env = dict(line.split("=", 1) for line in lines[2:])
    assert env["HOME"] == str(made.run.work / "home")
    assert env["LOCAL_API_KEY"] == KEY
    assert env["SPOTEVAL_UNIT"] == f"{made.root}:shell"
    assert not {"SPOTEVAL_CONFIG", "PYTHONPATH", "SPOTEVAL_CREDENTIALS_DIRECTORY"} & set(env)


@pytest.mark.runs("a command's exit code is its contract")
@pytest.mark.parametrize("why", ["draining", "held", "no run", "open key"])
def test_it_is_refused_with_one_line(tmp_path: Path, why: str) -> None:
    """While an interruption is under way, under a guest hold, without a run, with a key that others can read."""
    made = guest(tmp_path / "node")
    if why != "no run":
        plan = replace(PLAN, secret_env={"K": "model-key"})
        made.activate(replace(RECORD, plan=plan))
    if why == "draining":
        made.paths.draining.touch()
    if why == "held":
        made.disk.guest_hold.parent.mkdir()
        made.disk.guest_hold.write_text("tp 4 -> 8 (ana)\n")
    secret = made.paths.credentials / "model-key"
    secret.write_text(KEY)
    secret.chmod(0o644)
    done = run_exec(made)
    lines = {
        "draining": (3, f"run exec: an interruption is under way ({made.paths.draining})"),
        "held": (3, f'run exec: held: "tp 4 -> 8 (ana)" (rm {made.disk.guest_hold})'),
        "no run": (3, "run exec: no run is active (spoteval run start NAME)"),
        "open key": (2, f"{secret}: mode 0644, must be 0600 (chmod 600 {secret})"),
    }
    assert (done.returncode, done.stderr) == (lines[why][0], lines[why][1] + "\n")
    assert KEY not in done.stdout + done.stderr
