"""kill -9 in a child at the n-th file operation or request, and a disk that is full at the n-th write or fsync."""

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
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
Play = Callable[[Guest, int], bool]
"""One pass with the fault at that number; whether it had so many."""


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


@dataclass
class Fuse:
    """Burns down at each step."""

    left: int

    def step(self) -> None:
        """kill -9 of this very process at the last one."""
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def cases(folder: Path, kind: str, play: Play, every: int) -> Iterator[Case]:
    """Each number that a pass has, in a guest of its own; then one clean pass, by another process or by the same."""
    source = template(folder / "template")
    for number in count(1, every):
        with fresh(source, folder / f"{kind}-{number}") as guest:
            if not play(guest, number):
                break
            after = guest if kind.endswith(ONCE) else Guest(guest.root)
            yield judged(kind, number, after, after.store, partial(one_pass, after))


ONCE = "once"
"""Ends the name of a fault after which the same process goes on."""


def at_operation(guest: Guest, number: int) -> bool:
    """At every operation on a file, those of the store's own directory included."""

    def act() -> None:
        fuse = Fuse(number)
        with EAR.heard_by(lambda event, args: fuse.step()):
            one_pass(guest)

    return is_killed(act)


def at_request(guest: Guest, number: int) -> bool:
    """Before a request is sent, and once it was answered."""

    def act() -> None:
        guest.store = Numbered(FileStore(guest.root / "store"), at=Fuse(number).step)
        one_pass(guest)

    return is_killed(act)


def is_killed(act: Callable[[], None], told: Callable[[int], None] = lambda child: None) -> bool:
    """Whether the child that does it was killed; it ends by itself where there is no such number any more."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    told(child)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.waitstatus_to_exitcode(status) == 0, "the pass failed where nothing was done to it"
    return False


def full_write(guest: Guest, number: int, *, once: bool = False) -> bool:
    """A disk that is full from the n-th write on until the pass is over, or for that one alone."""
    seen, disk = [0], str(guest.disk.disk)

    def heard(event: str, args: tuple[object, ...]) -> None:
        if str(args[1]).startswith(disk) and args[0] in _BEGINS:
            seen[0] += 1
            if seen[0] == number or (seen[0] > number and not once):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(args[1]))

    with EAR.heard_by(heard):
        one_pass(guest)
    return seen[0] >= number


def full_fsync(guest: Guest, number: int, *, once: bool = False) -> bool:
    """The write was taken, and only its fsync says that there is no room; so does every later one, or none."""
    real, seen = os.fsync, [0]

    def fsync(fd: object) -> None:
        assert isinstance(fd, int)
        path = str(Path(f"/proc/self/fd/{fd}").readlink())
        if path.startswith(str(guest.disk.disk)):
            seen[0] += 1
            if seen[0] == number or (seen[0] > number and not once):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        real(fd)

    os.fsync = fsync  # type: ignore[assignment]
    try:
        one_pass(guest)
    finally:
        os.fsync = real
    return seen[0] >= number
