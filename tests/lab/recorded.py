"""A durable disk of this host whose writes and flushes are kept: for machines by nspawn, which share its kernel.

A file behind QEMU's driver `blklogwrites`, seen through a FUSE export and a loop device. What this host's page cache
still holds never reaches the log: a moment of the log is what a cut would leave, as with a machine in QEMU.
"""

import signal
import subprocess
import time
from pathlib import Path

from lab import writelog
from lab.disk import Disk
from lab.nspawn import until
from lab.orphans import MARK, mark
from lab.shell import PLAIN, Broken, call, log_of, tried

COMES_S, DIE_S = 30.0, 60.0
LOG_SIZE = "8G"  # holes


class Recorded:
    """The image `disk`, mounted below `place`, every write of it in a log that begins now."""

    def __init__(self, disk: Path, uuid: str, place: Path) -> None:
        place.mkdir(parents=True)
        self._base, self._seen, self._said = place / "base", place / "seen", place / "said"
        self.log = writelog.Log(place / "writes")
        call(["cp", "--sparse=always", str(disk), str(self._base)])
        call(["truncate", "--size", LOG_SIZE, str(self.log.path)])
        self._seen.touch()
        self._daemon = self._exported(disk)
        try:
            until(self._is_seen, COMES_S, "the disk's export", lambda: log_of(self._said))
            device = call(["losetup", "--find", "--show", str(self._seen)]).strip()
            self.disk = Disk(device, uuid, place / "mounted")
            self.disk.point.mkdir()
            call(["mount", device, str(self.disk.point)])
        except Broken:
            self._daemon.kill()
            raise

    def freeze(self) -> writelog.Moment:
        """Hold the disk still: no flush of it ends until `thaw`. Raises Broken."""
        for _ in range(100):
            self._daemon.send_signal(signal.SIGSTOP)
            time.sleep(0.01)
            count = self.log.look()
            if self.log.is_whole:
                return self._moment(count)
            self.thaw()
        raise Broken("a gap in the log of a disk at each look")

    def thaw(self) -> None:
        """Go on."""
        self._daemon.send_signal(signal.SIGCONT)

    def close(self) -> writelog.Moment:
        """Unmounted in order, as by a machine that goes off; the moment after that.

        Also where it still stands: a mount without its server holds up every sync of this host for ever.
        """
        self.thaw()
        self.disk.remove()
        self._daemon.terminate()
        try:
            self._daemon.wait(DIE_S)
        except subprocess.TimeoutExpired:
            self._daemon.kill()
            tried(["umount", "--lazy", str(self._seen)])
        return self._moment(self.log.look())

    def _moment(self, count: int) -> writelog.Moment:
        return writelog.Moment(self._base, self.log.path, tuple(self.log.entries[:count]))

    def _exported(self, disk: Path) -> "subprocess.Popen[bytes]":
        argv = ["qemu-storage-daemon"]
        for node in (
            f"driver=file,node-name=disk,cache.no-flush=on,filename={disk}",
            f"driver=file,node-name=log,cache.no-flush=on,filename={self.log.path}",
            "driver=blklogwrites,node-name=both,file=disk,log=log",
        ):
            argv += ["--blockdev", node]
        argv += [
            "--export",
            f"type=fuse,id=seen,node-name=both,mountpoint={self._seen},writable=on",
        ]
        with self._said.open("wb") as out:
            return subprocess.Popen(argv, stdout=out, stderr=out, env=PLAIN | {MARK: mark()})

    def _is_seen(self) -> bool:
        if self._daemon.poll() is not None:
            raise Broken(f"qemu-storage-daemon: {log_of(self._said, 300)}")
        return self._seen.stat().st_size > 0
