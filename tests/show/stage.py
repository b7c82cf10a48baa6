"""Where the shows run: the checkout, its environment, a scratch directory, and demos run once."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from show.lines import Missing, say

DEMO_LIMIT_S = 1200.0  # hung, not slow: the demo itself must end in 300


@dataclass(frozen=True, slots=True)
class Demo:
    """One run of the demo: its exit code, what --json wrote, and what --keep kept."""

    seed: int
    code: int
    keys: Mapping[str, object]
    kept: Path
    log: Path


@dataclass(slots=True)
class Stage:
    """Everything a show may use."""

    root: Path
    scratch: Path
    full: bool
    ci: bool
    parts: Sequence[str] = ()
    _demos: dict[int, Demo] = field(default_factory=dict)

    def wants(self, what: str) -> bool:
        """Whether a thing is to be shown: all are, or those whose name holds one of the words of --part."""
        return not self.parts or any(part in what for part in self.parts)

    @property
    def python(self) -> str:
        """The checkout's own environment, where it exists."""
        own = self.root / ".venv" / "bin" / "python"
        return str(own) if own.exists() else sys.executable

    def program(self, name: str) -> str:
        """A program of the checkout's environment. Raises Missing without it."""
        path = self.root / ".venv" / "bin" / name
        if not path.exists():
            raise Missing(f"no {name} in .venv (./install.sh test)")
        return str(path)

    def demo(self, seed: int) -> Demo:
        """The demo with this seed, run at the first call."""
        if seed not in self._demos:
            say(f"the demo with seed {seed} (log: {self.scratch}/seed-{seed}.log) ...")
            self._demos[seed] = run_demo(self._checkout(), seed, self.scratch)
        return self._demos[seed]

    def _checkout(self) -> Path:
        """A fresh clone under --full, so that nothing but what is committed is used."""
        if not self.full:
            return self.root
        clone = self.scratch / "clone"
        if not clone.exists():
            argv = ["git", "clone", "--quiet", str(self.root), str(clone)]
            subprocess.run(argv, check=True)
        return clone


def run_demo(checkout: Path, seed: int, scratch: Path) -> Demo:
    """./install.sh demo, with its output in a file."""
    keys, kept = scratch / f"seed-{seed}.json", scratch / f"seed-{seed}"
    log = scratch / f"seed-{seed}.log"
    argv = [str(checkout / "install.sh"), "demo", "--seed", str(seed)]
    argv += ["--json", str(keys), "--keep", str(kept)]
    code = run_to_file(argv, log, DEMO_LIMIT_S)
    read = json.loads(keys.read_text()) if keys.exists() else {}
    return Demo(seed, code, read, kept, log)


def run_to_file(argv: Sequence[str], log: Path, limit_s: float) -> int:
    """Exit code; past the limit the whole group is killed. SIGINT first, as a person would."""
    with log.open("wb") as file:
        child = subprocess.Popen(argv, stdout=file, stderr=file, start_new_session=True)
        for number, wait_s in ((signal.SIGINT, limit_s), (signal.SIGKILL, 20.0)):
            try:
                return child.wait(wait_s)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, number)
        return child.wait()


def output(argv: Sequence[str], cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run to the end, with these variables added to the environment."""
    return subprocess.run(
        argv, cwd=cwd, env=os.environ | more, capture_output=True, text=True, check=False
    )


def clear(scratch: Path) -> None:
    """Remove what the shows left."""
    shutil.rmtree(scratch, ignore_errors=True)
