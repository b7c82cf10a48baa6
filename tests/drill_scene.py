"""Two local hosts without weather, a model server that is none of the drill's business, and a person who types."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spoteval.clock import read_now
from spoteval.demo.account import cloud_state
from spoteval.demo.layout import INSTANCE, DemoPaths, host_environment, prepare
from spoteval.demo.stage import Host, environment, free_port, staged
from spoteval.paths import DurablePaths
from spoteval.report.agents import absent_agents

LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class Scene:
    """The hosts, which are up."""

    paths: DemoPaths

    @property
    def disk(self) -> DurablePaths:
        """The guest's disk."""
        return DurablePaths(self.paths.durable)

    @property
    def state(self) -> str:
        """What the local cloud says of the guest."""
        return cloud_state(self.paths.cloud)

    def typed(self, root: Path, *words: str, within_s: float = 900.0) -> tuple[int, str, str]:
        """Exit code, output and errors of `spoteval WORDS` on the host of that root."""
        argv = [sys.executable, "-c", "from spoteval.cli import main; main()", *words]
        env = environment(host_environment(root))
        done = subprocess.run(
            argv, env=env, capture_output=True, text=True, timeout=within_s, check=False
        )
        return done.returncode, done.stdout, done.stderr

    def guest(self, *words: str) -> tuple[int, str, str]:
        """On the guest."""
        return self.typed(self.paths.node, *words)

    def restarter(self, *words: str) -> tuple[int, str, str]:
        """On the restarter host."""
        return self.typed(self.paths.restarter, *words)


@contextmanager
def scene(root: Path, notice_window: str = "8s") -> Iterator[Scene]:
    """Both hosts under `root`, the guest started by hand and booted; nothing of them lives when the block ends."""
    paths = DemoPaths(root)
    prepare(paths, free_port(), read_now().wall)
    config = paths.node / "config.toml"
    config.write_text(
        config.read_text().replace('notice_window = "8s"', f'notice_window = "{notice_window}"')
    )
    with staged(paths, 1, "calm"):
        found = Scene(paths)
        until(lambda: found.state == "STOPPED", 60.0, "the local cloud to come up")
        Host(paths.restarter).spoteval("start", INSTANCE, "--reason", "first start")
        until(found.disk.boot.exists, 90.0, "the first boot")
        until(lambda: not absent_agents(paths.node / "run"), 60.0, "all agents")
        yield found


def until(true: Callable[[], bool], within_s: float, what: str) -> float:
    """Wait for it; returns for how long. Raises TimeoutError."""
    began_s = time.monotonic()
    while not true():
        if time.monotonic() - began_s > within_s:
            raise TimeoutError(f"waited {within_s:.0f} s for {what}")
        time.sleep(LOOK_S)
    return time.monotonic() - began_s


def by_guest(on: Scene) -> Mapping[str, Any]:
    """A drill whose stops the guest asks for: typed, switched off, typed again when it is back."""
    boot = on.disk.boot.read_bytes()
    code, _, err = on.guest("drill", "forced-stop")
    if code:
        raise RuntimeError(err)
    until(lambda: on.disk.boot.read_bytes() != boot, 120.0, "the machine to be started again")
    code, out, err = on.guest("drill", "forced-stop", "--within", "8min", "--json")
    return {"code": code, "err": err, **json.loads(out)}


def by_restarter(on: Scene) -> Mapping[str, Any]:
    """A drill whose stops the restarter host asks for: the run is made on the guest before."""
    code, _, err = on.guest("drill", "forced-stop", "--run-only")
    if code:
        raise RuntimeError(err)
    code, out, err = on.restarter("drill", "forced-stop", INSTANCE, "--within", "8min", "--json")
    return {"code": code, "err": err, **json.loads(out)}


if __name__ == "__main__":
    place, which = Path(sys.argv[1]).resolve(), sys.argv[2]
    with scene(place) as here:
        print(json.dumps({"guest": by_guest, "restarter": by_restarter}[which](here), indent=1))
    os.sync()
