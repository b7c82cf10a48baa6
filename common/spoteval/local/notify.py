"""The notify socket of one unit, as the service manager of a local node holds it."""

import os
import socket
import struct
from contextlib import suppress

_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid


class NotifySocket:
    """A socket in the abstract namespace: a path would be too long for sun_path in a deep directory."""

    def __init__(self) -> None:
        self.address = f"@spoteval-{os.getpid()}-{os.urandom(6).hex()}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(0.0)  # never wait
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.bind(self.address.replace("@", "\0", 1))

    def messages(self, main_pid: int) -> list[tuple[str, str]]:
        """The assignments that the main process sent since; what others send is dropped (NotifyAccess=main)."""
        found: list[tuple[str, str]] = []
        with suppress(BlockingIOError):
            while True:
                data, ancillary, _, _ = self._socket.recvmsg(
                    4096, socket.CMSG_SPACE(_CREDENTIALS.size)
                )
                if any(_pid(item) == main_pid for _, _, item in ancillary):
                    found += _assignments(data)
        return found

    def close(self) -> None:
        """Forget the socket."""
        self._socket.close()


def _pid(item: bytes) -> int:
    pid: int = _CREDENTIALS.unpack(item[: _CREDENTIALS.size])[0]
    return pid


def _assignments(data: bytes) -> list[tuple[str, str]]:
    lines = data.decode(errors="replace").splitlines()
    return [(key, value) for key, mark, value in (line.partition("=") for line in lines) if mark]
