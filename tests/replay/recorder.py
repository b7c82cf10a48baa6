"""A durable disk whose every write and flush is kept, while the real agents and a real Inspect run work on it.

The disk is a file behind qemu's driver `blklogwrites`, seen by the kernel through a FUSE export and a loop device, with
ext4 on it. It is mounted where the demo's node has its durable disk. Beside the log, how long it was is kept a hundred
times a second: what the store held by then must be on every later state of the disk.
"""

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from spoteval.demo import director
from spoteval.demo.director import Options, play
from spoteval.demo.layout import DemoPaths
from spoteval.demo.stage import DemoFailed
from spoteval.loop import Waker

MOST_S = 1800.0
"""For the whole demo: each flush takes its way through four processes."""
SIZE = "96M"
TICK_S = 0.01
BASE, LOG, TIMES, DEMO = "base.img", "log.img", "times.json", "demo"
PATCH = '''\
"""Loaded by every Python of this recording: a mutant in which nothing is made durable."""
import os
os.fsync = os.fdatasync = lambda descriptor: None
'''


class NotRecorded(Exception):
    """The recording failed; one line."""


@dataclass(slots=True)
class Clock:
    """How long the log was, and when."""

    path: Path
    seen: list[tuple[int, int]] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Look until told to end."""
        while not self._over.wait(TICK_S):
            self.look()

    def look(self) -> None:
        """The time first: by then the log was at most as long as is read after it."""
        now_ns = time.time_ns()
        size = self.path.stat().st_size
        if not self.seen or self.seen[-1][1] != size:
            self.seen.append((now_ns, size))
        else:
            self.seen[-1] = (now_ns, size)

    def end(self) -> None:
        """No look after this."""
        self._over.set()


def record(folder: Path, seed: int, *, mutant: bool = False) -> None:
    """Play the demo on a recorded disk. In `folder` then lie the base, the log, its times, and the store.

    With `mutant`, no process of it makes anything durable. Raises NotRecorded.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    paths = DemoPaths(folder / DEMO)
    paths.durable.mkdir(parents=True)
    director.LIMIT_S = MOST_S
    with disk(folder, paths.durable) as clock, patched(folder, mutant):
        try:
            with Waker() as waker:
                play(Options(paths.root, seed), waker, lambda _: None)
        except DemoFailed as error:
            raise NotRecorded(f"the demo: {error}") from error
        finally:
            clock.look()
    # The store's own stamps are those of this moment and place alone: a copy of the recording has others.
    times = {"looks": clock.seen, "objects": dict(_objects(paths.store))}
    (folder / TIMES).write_text(json.dumps(times))


def _objects(store: Path) -> Iterator[tuple[str, int]]:
    """Each object's key, and when it was there, in nanoseconds."""
    for top, _, names in os.walk(store):
        for name in names:
            path = Path(top, name)
            if not name.startswith("."):
                yield str(path.relative_to(store)), path.stat().st_ctime_ns


@contextmanager
def disk(folder: Path, point: Path) -> Iterator[Clock]:
    """An empty filesystem at `point`, everything that is done to it kept in `folder`. Raises NotRecorded."""
    image, log, seen = folder / "disk.img", folder / LOG, folder / "seen.img"
    _must("truncate", "-s", SIZE, str(image))
    _must("mkfs.ext4", "-q", "-b", "4096", "-E", "nodiscard,lazy_itable_init=0", str(image))
    _must("cp", "--sparse=always", str(image), str(folder / BASE))
    for file in (log, seen):
        file.touch()
    with ExitStack() as stack:
        stack.enter_context(_exported(image, log, seen))
        device = _must("losetup", "-f", "--show", str(seen)).strip()
        stack.callback(_tried, "losetup", "-d", device)
        _must("mount", "-t", "ext4", "-o", "nodiscard", device, str(point))
        stack.callback(_tried, "umount", str(point))
        clock = Clock(log)
        looks = threading.Thread(target=clock.run, daemon=True)
        looks.start()
        try:
            yield clock
        finally:
            clock.end()
            looks.join()


@contextmanager
def patched(folder: Path, mutant: bool) -> Iterator[None]:
    """With `mutant`, every Python that starts meanwhile leaves out its fsync."""
    if not mutant:
        yield
        return
    place = folder / "patch"
    place.mkdir()
    (place / "sitecustomize.py").write_text(PATCH)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(place) if before is None else f"{place}:{before}"
    try:
        yield
    finally:
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)


def program() -> str:
    """qemu's storage daemon, with the driver and the export that are needed. Raises NotRecorded."""
    found = shutil.which("qemu-storage-daemon")
    if found is None:
        raise NotRecorded("no qemu-storage-daemon here (apt-get install qemu-system-common)")
    return found


@contextmanager
def _exported(image: Path, log: Path, seen: Path) -> Iterator[None]:
    argv = [program()]
    for node in (
        f"driver=file,node-name=disk,filename={image}",
        f"driver=file,node-name=log,filename={log}",
        "driver=blklogwrites,node-name=both,file=disk,log=log,log-sector-size=512",
    ):
        argv += ["--blockdev", node]
    argv += ["--export", f"type=fuse,id=seen,node-name=both,mountpoint={seen},writable=on"]
    daemon = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    try:
        until_s = time.monotonic() + 20.0
        while seen.stat().st_size == 0:
            if daemon.poll() is not None or time.monotonic() > until_s:
                raise NotRecorded(f"qemu-storage-daemon: {_last(daemon)}")
            time.sleep(0.05)
        yield
    finally:
        daemon.terminate()
        daemon.wait()


def _last(daemon: subprocess.Popen[str]) -> str:
    daemon.terminate()
    said = daemon.communicate()[1].strip().splitlines()
    return said[-1] if said else "it exports nothing"


def _must(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotRecorded(f"{argv[0]}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    return done.stdout


def _tried(*argv: str) -> None:
    subprocess.run(argv, capture_output=True, check=False)
