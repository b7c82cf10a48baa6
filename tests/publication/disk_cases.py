"""kill -9 in a child at the n-th file operation or request, and a disk that is full at the n-th write or fsync."""

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Lock

from follower_world import Flaky, Guest
from publication.judge import Case, fresh, judged, one_pass, template
from spoteval.store.contract import Put
from spoteval.store.file import FileStore

LANES = 4
_BEGINS = ("write", "append", "rename", "link", "unlink")
Hook = Callable[[str, tuple[object, ...]], None]


@dataclass
class Ear:
    """The one audit hook of this process, which can not be removed: it hears whoever listens now."""

    listener: Hook | None = None
    added: bool = False

    @contextmanager
    def heard_by(self, listener: Hook) -> Iterator[None]:
        """While the block runs."""
        if not self.added:
            self.added = True
            sys.addaudithook(self._hear)
        self.listener = listener
        try:
            yield
        finally:
            self.listener = None

    def _hear(self, event: str, args: tuple[object, ...]) -> None:
        if event == "spoteval.files" and self.listener is not None:
            self.listener(event, args)


EAR = Ear()


@dataclass
class Numbered(Flaky):
    """Lanes of puts, each with a number before it is sent and another once it was answered."""

    at: Callable[[], None] = lambda: None
    lanes: int = LANES
    lock: Lock = field(default_factory=Lock)

    def put(self, key: str, data: bytes) -> Put:
        """Two numbers."""
        self._step()
        answer = self.inner.put(key, data)
        self._step()
        return answer

    def _step(self) -> None:
        with self.lock:
            self.at()


def kills(folder: Path, every: int) -> Iterator[Case]:
    """At every operation on a file, those of the store's own directory included, and at every request."""
    source = template(folder / "template")
    for kind, play in (("operation", _die_at_operation), ("request", _die_at_request)):
        for number in count(1, every):
            with fresh(source, folder / f"{kind}-{number}") as guest:
                if not _killed(lambda guest=guest, number=number, play=play: play(guest, number)):  # type: ignore[misc]
                    break
                after = Guest(guest.root)
                yield judged(kind, number, after, after.store, lambda after=after: one_pass(after))  # type: ignore[misc]


def _die_at_operation(guest: Guest, number: int) -> None:
    left = [number]

    def heard(event: str, args: tuple[object, ...]) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    with EAR.heard_by(heard):
        one_pass(guest)


def _die_at_request(guest: Guest, number: int) -> None:
    left = [number]

    def at() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    guest.store = Numbered(FileStore(guest.root / "store"), at=at)
    one_pass(guest)


def _killed(act: Callable[[], None]) -> bool:
    """Whether the child that does it was killed; it ends by itself where there is no such number any more."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.waitstatus_to_exitcode(status) == 0, "the pass failed where nothing was done to it"
    return False


def full_disk(folder: Path, every: int) -> Iterator[Case]:
    """From the n-th write on until the pass is over, and at the n-th fsync alone, where it shows only then."""
    source = template(folder / "template")
    for kind, full in (("write", _full_from), ("fsync", _full_at_fsync)):
        for number in count(1, every):
            with fresh(source, folder / f"{kind}-{number}") as guest:
                if not full(guest, number):
                    break
                after = Guest(guest.root)
                yield judged(kind, number, after, after.store, lambda after=after: one_pass(after))  # type: ignore[misc]


def _full_from(guest: Guest, number: int) -> bool:
    """Whether there was such a write."""
    seen, disk = [0], str(guest.disk.disk)

    def heard(event: str, args: tuple[object, ...]) -> None:
        if str(args[1]).startswith(disk) and args[0] in _BEGINS:
            seen[0] += 1
            if seen[0] >= number:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(args[1]))

    with EAR.heard_by(heard):
        one_pass(guest)
    return seen[0] >= number


def _full_at_fsync(guest: Guest, number: int) -> bool:
    """Whether there was such an fsync; every later one fails as well."""
    real, seen = os.fsync, [0]

    def fsync(descriptor: object) -> None:
        assert isinstance(descriptor, int)
        path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        if path.startswith(str(guest.disk.disk)):
            seen[0] += 1
            if seen[0] >= number:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        real(descriptor)

    os.fsync = fsync  # type: ignore[assignment]
    try:
        one_pass(guest)
    finally:
        os.fsync = real
    return seen[0] >= number
