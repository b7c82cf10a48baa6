"""An image that follows the log, and copies of it that are mounted: a filesystem as it comes up after a power cut."""

import ctypes
import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.writelog import Entry
from replay.log import DiskLog
from replay.states import DiskState

_LIBC = ctypes.CDLL(None, use_errno=True)
_GET_FREE, _CONFIGURE, _CLEAR = 0x4C82, 0x4C0A, 0x4C01
_NEWNS, _REC, _PRIVATE, _NOATIME = 0x20000, 16384, 1 << 18, 1024
_CHUNK = 1 << 20


class Image:
    """The disk as all flushes so far have left it, and one state of it to look at."""

    def __init__(self, base: Path, folder: Path, log: DiskLog) -> None:
        self._log = log
        self._data = os.open(log.path, os.O_RDONLY)
        self._durable = os.open(folder / "durable.img", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self.state = folder / "state.img"
        self._applied = 0
        with base.open("rb") as file:
            self._size = base.stat().st_size
            _copy(file.fileno(), self._durable, self._size)

    def take(self, state: DiskState) -> Path:
        """The image file of this state. States come in order."""
        for entry in self._log.entries[self._applied : state.stretch.first]:
            self._write(self._durable, entry, 0, entry.size)
        self._applied = max(self._applied, state.stretch.first)
        self.state.unlink(missing_ok=True)
        target = os.open(self.state, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _copy(self._durable, target, self._size)
            for piece in state.pieces:
                self._write(target, self._log.entries[piece.entry], piece.offset, piece.size)
        finally:
            os.close(target)
        return self.state

    def _write(self, target: int, entry: Entry, offset: int, size: int) -> None:
        if entry.writes:
            os.pwrite(
                target, os.pread(self._data, size, entry.data + offset), entry.offset + offset
            )


def _copy(source: int, target: int, size: int) -> None:
    """Only what was ever written: the rest are holes."""
    os.ftruncate(target, size)
    at = 0
    while at < size:
        try:
            at = os.lseek(source, at, os.SEEK_DATA)
        except OSError:
            return
        end = os.lseek(source, at, os.SEEK_HOLE)
        while at < end:
            at += os.pwrite(target, os.pread(source, min(_CHUNK, end - at), at), at)


def private_mounts() -> None:
    """From here on nobody else sees our mounts, and they are gone with us. Raises OSError."""
    _call(_LIBC.unshare(_NEWNS))
    _call(_LIBC.mount(b"none", b"/", None, _REC | _PRIVATE, None))


@contextmanager
def mounted(image: Path, point: Path) -> Iterator[Path]:
    """The filesystem, its journal replayed. Raises OSError where it cannot be mounted."""
    device = _attached(image)
    try:
        _call(_LIBC.mount(device.encode(), bytes(point), b"ext4", _NOATIME, b"nodiscard"))
    finally:
        _detached(device)  # when it is mounted, only once it is unmounted
    try:
        yield point
    finally:
        _call(_LIBC.umount2(bytes(point), 0))


def _attached(image: Path) -> str:
    """A loop device; another process may take the free one first."""
    while True:
        with Path("/dev/loop-control").open("rb") as control:
            device = f"/dev/loop{fcntl.ioctl(control, _GET_FREE)}"
        with Path(device).open("r+b", buffering=0) as loop, image.open("r+b") as file:
            info = struct.pack("<QQQQQIIII64s64s32s16s", *[0] * 9, b"", b"", b"", b"")
            try:
                fcntl.ioctl(
                    loop, _CONFIGURE, struct.pack("<II", file.fileno(), 0) + info + bytes(64)
                )
            except OSError:
                continue
            return device


def _detached(device: str) -> None:
    with Path(device).open("r+b", buffering=0) as loop:
        fcntl.ioctl(loop, _CLEAR)


def _call(code: int) -> None:
    if code != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
