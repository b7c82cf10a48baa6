"""The demo's stage: a node, a market that preempts it and a restarter, as processes that always end."""

import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, SIGTERM

from spoteval.demo.layout import INSTANCE, DemoPaths, host_environment, units_directory
from spoteval.local.unit_set import kill_all
from spoteval.machine.cgroup import MarkedProcesses
from spoteval.machine.process import Child, Finished, run, spawn

_END_WITHIN_S = 15.0


class DemoFailed(Exception):
    """A step of the demo failed; the text is one line and says where to look."""


@dataclass(frozen=True, slots=True)
class Host:
    """One of the demo's two hosts, as a person at its terminal sees it."""

    root: Path

    def spoteval(self, *words: str, timeout_s: float = 60.0) -> Finished:
        """Type a `spoteval` command on this host; raises DemoFailed where it fails."""
        done = run(["spoteval", *words], timeout_s, environment(host_environment(self.root)))
        if not done.ok:
            said = (
                done.err or done.out
            ).strip() or f"exit {done.code} after {done.duration_s:.0f} s"
            raise DemoFailed(f"spoteval {' '.join(words)}: {said}")
        return done


@contextmanager
def staged(paths: DemoPaths, seed: int, profile: str) -> Iterator[tuple[Child, Child]]:
    """The local node with its market, and the restarter host; both ended when the block ends."""
    units = ["--units", str(units_directory())]
    node = [
        *_module("node"),
        "--root",
        str(paths.node),
        "--cloud",
        str(paths.cloud / INSTANCE),
        *units,
    ]
    market = ["--units", str(paths.node / "units"), "--seed", str(seed), "--profile", profile]
    restarter = [*_module("host"), "--root", str(paths.restarter), *units]
    with ExitStack() as stack:
        yield (
            stack.enter_context(_living([*node, *market], paths.node)),
            stack.enter_context(
                _living([*restarter, "--unit", "spoteval-restarter.service"], paths.restarter)
            ),
        )


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Our environment with this interpreter's programs first, so that units find their bare names."""
    here = str(Path(sys.prefix) / "bin")
    return {**os.environ, "PATH": f"{here}:{os.environ.get('PATH', os.defpath)}", **extra}


def free_port() -> int:
    """A port of the loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _living(argv: Sequence[str], root: Path) -> Iterator[Child]:
    """A host's driver. When the block ends none of the host's processes lives, also where the driver was killed."""
    child = spawn(argv, environment({}))
    try:
        yield child
    finally:
        child.send(SIGTERM)
        if child.wait(_END_WITHIN_S) is None:
            child.send_group(SIGKILL)
        kill_all(MarkedProcesses(root.resolve()))


def _module(name: str) -> list[str]:
    """It ends with us, also where we are killed."""
    return [sys.executable, "-m", f"spoteval.local.{name}", "--with-parent"]
