"""Real disks for tests: loop devices mounted in a mount namespace of their own, seen by nobody else."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

OURS, OTHER = "0b5e6f0e-6a0e-4b58-9a1c-2f1d3f7f2a11", "1c6f7010-7b1f-4c69-8b2d-3f2e40803b22"
ROOT = Path(__file__).parent.parent
# udev does not know these devices: its links are made here, where only this namespace sees them.
PRELUDE = """
set -eu
mkdir -p /dev/disk; mount -t tmpfs none /dev/disk; mkdir -p /dev/disk/by-uuid /dev/disk/by-label
loops=""; points=""
clean() { cd /; for p in $points; do umount -l "$p" || true; done
          for l in $loops; do losetup -d "$l" || true; done; }
trap clean EXIT
disk() {  # disk NAME UUID MB: a fresh file system, attached, not mounted; its device is $loop
  truncate -s "$3M" "$base/$1.img"; mkfs.ext4 -q -m 0 -L "$1" -U "$2" "$base/$1.img"; attach "$1" "$2"; }
attach() { loop=$(losetup -f --show "$base/$1.img"); loops="$loops $loop"
  ln -sf "$loop" "/dev/disk/by-uuid/$2"; ln -sf "$loop" "/dev/disk/by-label/$1"; }
at() { mkdir -p "$1"; mount "$loop" "$1"; points="$points $1"; }
spoteval() { "$python" -c 'from spoteval.cli import main; main()' "$@"; }
said() {  # said NAME COMMAND...: its output, errors and exit code are kept under the name
  name=$1; shift; set +e; "$@" >"$base/$name.out" 2>"$base/$name.err" </dev/null
  echo $? >"$base/$name.code"; set -e; }
"""


@dataclass(frozen=True)
class Said:
    """What one command of a script answered."""

    code: int
    out: list[str]
    err: list[str]

    @property
    def record(self) -> dict[str, Any]:
        """The JSON object that it printed."""
        found = json.loads(self.out[-1])
        assert isinstance(found, dict)
        return found


@dataclass(frozen=True)
class Played:
    """What a script wrote, and what its commands did."""

    base: Path
    out: list[str]

    def said(self, name: str) -> Said:
        """The command that was called so."""
        code, out, err = (
            (self.base / f"{name}.{end}").read_text() for end in ("code", "out", "err")
        )
        return Said(int(code), out.splitlines(), err.splitlines())


def play(base: Path, script: str, **env: str) -> Played:
    """Run a script with the prelude as root of a mount namespace of its own; skips the test where that cannot be."""
    base.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", PRELUDE + script],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=_environment(base, env),
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        _skip_where_it_cannot_be(done.stderr)
    assert done.returncode == 0, done.stderr
    return Played(base, done.stdout.splitlines())


def _environment(base: Path, more: Mapping[str, str]) -> dict[str, str]:
    paths = os.pathsep.join(str(ROOT / part) for part in ("common", "agents", "tests"))
    return {
        "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
        "PYTHONPATH": paths,
        "BASE": str(base),
        "base": str(base),
        "python": sys.executable,
        "SPOTEVAL_CONFIG": str(base / "config.toml"),
        "SPOTEVAL_CREDENTIALS_DIRECTORY": str(base / "credentials"),
        "SPOTEVAL_RUN_DIRECTORY": str(base / "run"),
        "SPOTEVAL_STATE_DIRECTORY": str(base / "state"),
        **more,
    }


def _skip_where_it_cannot_be(said: str) -> None:
    cannot = (
        "unshare failed",
        "cannot find an unused loop",
        "failed to set up loop",
        "mount failed",
    )
    denied = (
        "Operation not permitted",
        "Permission denied",
        "must be superuser",
        "command not found",
    )
    if any(word in said for word in (*cannot, *denied)):
        pytest.skip(f"needs root, loop devices and mkfs: {said.strip().splitlines()[-1]}")
