"""Stands between a client and a service on loopback, and spoils answers: one fault for each request that comes."""

import hashlib
import http.client
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

PIECE = 40
"""Bytes of a slow answer that come together."""
_HOPS = frozenset(["connection", "transfer-encoding", "proxy-connection", "keep-alive", "expect"])


@dataclass(frozen=True)
class Fault:
    """What happens to one request. Without a status it reaches the service.

    `cut`: only so many bytes of the answer's body come, then the connection is reset; `reset`: not even a status
    comes; `half`: half of the answer's head comes, then that; `stall_s`: so long nothing comes; `slow_s`: the head of
    the answer takes so long, in small pieces; `deaf`: what exists is said to have been made; `damage`: one byte of the
    request is another; `strike`: called once the request came, or the service has answered it.
    """

    status: int | None = None
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = "<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    message: str = "said the service"
    reset: bool = False
    cut: int | None = None
    stall_s: float = 0.0
    deaf: bool = False
    damage: bool = False
    half: bool = False
    slow_s: float = 0.0
    strike: Callable[[], None] | None = None

    def text(self) -> bytes:
        """The body of an answer of its own."""
        return self.body.format(code=self.code, message=self.message).encode()


SLOW_DOWN = Fault(503, "SlowDown")
CONFLICT = Fault(409, "ConditionalRequestConflict")
NO_CONDITION = Fault(501, "NotImplemented")
RESET = Fault(200, reset=True)
LOST_ANSWER = Fault(reset=True)
DEAF = Fault(deaf=True)


@dataclass
class Proxy:
    """One proxy. `faults` are taken one by one, then `always`; `seen` has method, path and headers of each request."""

    endpoint: str
    target: str
    faults: list[Fault] = field(default_factory=list)
    always: Fault = field(default_factory=Fault)
    seen: list[tuple[str, str, Mapping[str, str]]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, method: str, path: str, headers: Mapping[str, str]) -> Fault:
        """The fault of this request."""
        with self.lock:
            self.seen.append((method, path, headers))
            return self.faults.pop(0) if self.faults else self.always

    @property
    def methods(self) -> list[str]:
        """The methods that came."""
        return [method for method, _, _ in self.seen]


@contextmanager
def proxy_to(target: str) -> Iterator[Proxy]:
    """A proxy in threads of this process. Its clients may also name it as their HTTP proxy."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.proxy = proxy = Proxy(f"http://127.0.0.1:{server.server_port}", target)  # type: ignore[attr-defined]
    thread = threading.Thread(target=lambda: server.serve_forever(0.05), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.released.set()
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is what some faults are for."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Nothing."""

    def _serve(self) -> None:
        proxy: Proxy = self.server.proxy  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = proxy.next(self.command, self.path, dict(self.headers.items()))
        if fault.stall_s and proxy.released.wait(fault.stall_s):
            return
        body = bytes([body[0] ^ 1]) + body[1:] if fault.damage else body
        if fault.status is not None:
            status, headers, data = fault.status, dict(fault.headers), fault.text()
        else:
            status, headers, data = self._forward(proxy.target, body)
        if fault.deaf and status == 412:
            status, headers, data = 200, {"ETag": hashlib.md5(body).hexdigest()}, b""
        if fault.strike is not None:
            fault.strike()
        if fault.reset:
            self._break()
        else:
            self._answer(status, headers, data, fault)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 - the names are those of the library

    def _forward(self, target: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """As it came, the Host included: it is signed."""
        parts = urlsplit(target)
        connection = http.client.HTTPConnection(parts.netloc, timeout=30)
        path = urlsplit(self.path)._replace(scheme="", netloc="").geturl()
        connection.putrequest(self.command, path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in _HOPS:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        data, headers = answer.read(), answer.getheaders()
        connection.close()
        return answer.status, {k: v for k, v in headers if k.lower() not in _HOPS}, data

    def _answer(self, status: int, headers: Mapping[str, str], data: bytes, fault: Fault) -> None:
        lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, 'Unknown')}"]
        lines += [f"{k}: {v}" for k, v in headers.items() if k.lower() != "content-length"]
        head = "\r\n".join([*lines, f"Content-Length: {len(data)}", "", ""]).encode("latin-1")
        if fault.half:
            self.wfile.write(head[: len(head) // 2])
            self._break()
            return
        pieces = [head[at : at + PIECE] for at in range(0, len(head), PIECE)]
        for piece in pieces if fault.slow_s else [head]:
            self.wfile.write(piece)
            time.sleep(fault.slow_s / len(pieces))
        self.wfile.write(data[: fault.cut])
        if fault.cut is not None:
            self._break()

    def _break(self) -> None:
        """A reset, as from a host that is gone."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
        self.wfile.flush()
        self.connection.close()
