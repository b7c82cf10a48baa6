"""A link of so many bits a second to a service on loopback: bytes towards the service wait their turn."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_PIECE = 16 * 1024


@dataclass
class Link:
    """All connections share `bytes_s`; `sent` counts what went towards the service. None: as fast as it goes."""

    endpoint: str
    target: tuple[str, int]
    bytes_s: float | None
    sent: int = 0
    closed: bool = False
    _free_s: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait_for_turn(self, size: int) -> None:
        """Until the link has carried what was before."""
        with self._lock:
            self.sent += size
            if self.bytes_s is None:
                return
            self._free_s = max(self._free_s, time.monotonic()) + size / self.bytes_s
            until_s = self._free_s
        time.sleep(max(0.0, until_s - time.monotonic()))


@contextmanager
def link_to(endpoint: str, mbit_s: float | None) -> Iterator[Link]:
    """A link in threads of this process; None as a rate: one that is to be changed later."""
    parts = urlsplit(endpoint)
    with socket.create_server(("127.0.0.1", 0)) as server:
        bytes_s = None if mbit_s is None else mbit_s * 1e6 / 8
        target = (str(parts.hostname), int(parts.port or 80))
        link = Link(f"http://127.0.0.1:{server.getsockname()[1]}", target, bytes_s)
        threading.Thread(target=_accept, args=(server, link), daemon=True).start()
        try:
            yield link
        finally:
            link.closed = True


def _accept(server: socket.socket, link: Link) -> None:
    with suppress(OSError):
        while not link.closed:
            client, _ = server.accept()
            try:
                service = socket.create_connection(link.target)
            except OSError:
                client.close()
                continue
            for one, other, counted in ((client, service, True), (service, client, False)):
                threading.Thread(
                    target=_pump, args=(one, other, link, counted), daemon=True
                ).start()


def _pump(source: socket.socket, target: socket.socket, link: Link, counted: bool) -> None:
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            if counted:
                link.wait_for_turn(len(piece))
            target.sendall(piece)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
