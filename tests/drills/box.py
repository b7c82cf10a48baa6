"""One machine in a directory: the local node, switched on, given notice and cut off by hand."""

import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from signal import SIGKILL

from spoteval.clock import read_now, stamp
from spoteval.demo.layout import INSTANCE, DemoPaths, host_environment, units_directory
from spoteval.demo.stage import environment
from spoteval.files import read_record, write_new_record, write_record
from spoteval.local.cloud import CloudFiles
from spoteval.local.unit_set import kill_all
from spoteval.machine.cgroup import MarkedProcesses
from spoteval.machine.process import Child, Finished, run, spawn
from spoteval.paths import DurablePaths, RunPaths
from spoteval.shape import Table

MACHINE = Path(__file__).with_name("machine.py")
RUN = "drill"
TYPED_S = 180.0
"""Hung, not slow: `run new` asks Inspect for its version, which takes most of a minute on a machine that is full."""
GUEST = """\
[host]
role = "guest"
instance = "{instance}"
[disk]
path = "{durable}"
identity = "sentinel"
min_free = "10MB"
[provider]
kind = "local"
cloud = "{cloud}"
notice_window = "{window_s}s"
[store]
url = "{store}"
[publication]
every = "{every}"
"""


class Never(Exception):
    """What was waited for did not come; the text says what, and where to look."""


class Box:
    """Where one machine lies, and what a person or a provider can do to it."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.paths = DemoPaths(self.root)
        self.cloud = CloudFiles(self.paths.cloud / INSTANCE)
        self._driver: Child | None = None

    @property
    def disk(self) -> DurablePaths:
        """The durable disk."""
        return DurablePaths(self.paths.durable)

    @property
    def run(self) -> RunPaths:
        """The run's directory."""
        return self.disk.run(RUN)

    @property
    def state(self) -> str:
        """What the cloud shows."""
        found = read_record(self.cloud.state)
        return found.text("state") if isinstance(found, Table) else "UNKNOWN"

    def lay(
        self,
        window_s: float,
        more: str,
        units: Mapping[str, str],
        key: bytes = b"",
        every: str = "1s",
    ) -> None:
        """Host file, disk, empty store, and units that systemd's rests do not slow down."""
        paths = self.paths
        for folder in (paths.store, paths.durable, self.cloud.root, paths.node / "credentials"):
            folder.mkdir(parents=True)
        text = GUEST.format(
            instance=INSTANCE,
            durable=paths.durable,
            cloud=self.cloud.root,
            store=paths.store_url,
            window_s=f"{window_s:g}",
            every=every,
        )
        (paths.node / "config.toml").write_text(text + more)
        credential = paths.node / "credentials" / "model-key"
        credential.touch(0o600)
        credential.write_bytes(key)
        self._lay_units(units)
        sentinel = {"instance": INSTANCE, "identity": "sentinel", "created": _stamp(0.0)}
        write_new_record(self.disk.sentinel, sentinel)

    def _lay_units(self, units: Mapping[str, str]) -> None:
        folder = self.root / "units"
        folder.mkdir()
        for path in units_directory().glob("*.*"):
            if path.is_file() and "restarter" not in path.name:
                text = re.sub(r"RestartSec=\d+s", "RestartSec=100ms", path.read_text())
                (folder / path.name).write_text(text)
        for name, text in units.items():
            (folder / name).write_text(text)

    @contextmanager
    def living(self, **more: str) -> Iterator["Box"]:
        """For the block; whatever happens in it, nothing of this machine lives on."""
        self._more = more
        try:
            yield self
        finally:
            self.plug()

    def switch_on(self) -> None:
        """Start the instance and wait until its units are being started."""
        if self._driver is None:
            words = ["--root", str(self.paths.node), "--cloud", str(self.cloud.root)]
            argv = [sys.executable, str(MACHINE), *words, "--units", str(self.root / "units")]
            self._driver = spawn([*argv, "--with-parent"], environment(self._more))
            self.until(self.cloud.has_driver, 20, "the driver of the node")
            self.until(lambda: self.state == "STOPPED", 20, "the local cloud")
        self.cloud.ask("start", read_now())
        self.until(lambda: self.state == "RUNNING", 20, "RUNNING")

    def plug(self) -> None:
        """Everything of the machine dies at once, its driver first: it would start again what ends."""
        if self._driver is not None:
            self._driver.send(SIGKILL)
        kill_all(MarkedProcesses(self.paths.node))
        if self._driver is not None:
            self._driver.wait(15)
            self._driver = None

    def button(self) -> None:
        """The power button: an orderly shutdown, of which nobody was told."""
        self.cloud.ask("stop", read_now())

    def notice(self, window_s: float) -> None:
        """The provider's notice: the machine goes in so many seconds."""
        body = {"kind": "preemption", "deadline": _stamp(window_s), "id": f"n-{stamp(_now())}"}
        write_record(self.cloud.notice, body)

    def begin(self) -> None:
        """What a person types on the guest, once."""
        self.until(self.disk.boot.exists, 20, "the first boot")
        self.type("run", "new", RUN)
        self.type("run", "start", RUN)

    def type(self, *words: str) -> Finished:
        """A `spoteval` command on this host; raises Never where it fails."""
        done = run(["spoteval", *words], TYPED_S, environment(host_environment(self.paths.node)))
        if not done.ok:
            why = (done.err or done.out).strip() or f"no word within {TYPED_S:g} s"
            raise Never(f"spoteval {' '.join(words)}: {why}")
        return done

    def until(
        self, true: Callable[[], object], within_s: float, what: str, every_s: float = 0.05
    ) -> None:
        """Wait until it holds; raises Never after `within_s`."""
        ends_s = time.monotonic() + within_s
        while not true():
            if time.monotonic() > ends_s:
                raise Never(f"waited {within_s:g} s for {what} (see {self.paths.node / 'journal'})")
            time.sleep(every_s)


def _now() -> datetime:
    return datetime.now(UTC)


def _stamp(in_s: float) -> str:
    return stamp(_now() + timedelta(seconds=in_s))
