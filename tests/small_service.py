"""A service of a few lines in threads of this process, that a test makes slow, full, or strange: puts alone."""

import hashlib
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from spoteval.store.keys import AccessKeys
from spoteval.store.place import S3Place
from spoteval.store.s3 import S3Store

KEYS = AccessKeys("AKIAEXAMPLE", "secret")


@dataclass
class Small:
    """One service. `objects` by path; `paths` of all requests; `connections` that were taken."""

    endpoint: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    connections: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def store(self) -> S3Store:
        """A store in it."""
        return S3Store("s3://evals/x", S3Place(self.endpoint, "x", lambda: KEYS))

    def take(self, asked: "Asked", body: bytes, *, close: bool = False) -> None:
        """Create-only, and answer as a service does."""
        with self.lock:
            there = asked.path in self.objects
            self.objects.setdefault(asked.path, body)
        if there:
            asked.say(412, b"<Error><Code>PreconditionFailed</Code></Error>", close=close)
        else:
            asked.say(200, etag=f'"{hashlib.md5(body).hexdigest()}"', close=close)


class Asked(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Nothing."""

    def say(self, status: int, body: bytes = b"", etag: str = "", *, close: bool = False) -> None:
        """Answer it."""
        self.close_connection = self.close_connection or close
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}"]
        lines += [f"ETag: {etag}"] if etag else []
        lines += ["Connection: close"] if close else []
        self.wfile.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)

    def body(self) -> bytes:
        """What was sent."""
        return self.rfile.read(int(self.headers["Content-Length"]))


React = Callable[[Small, Asked, bytes], None]


@contextmanager
def small(
    react: React = Small.take,
    tls: ssl.SSLContext | None = None,
    accepted: Callable[[Asked], None] = lambda _: None,
) -> Iterator[Small]:
    """A service; `react` answers a request, `accepted` is called in the thread of each connection."""
    service = Small()

    class Handler(Asked):
        def setup(self) -> None:
            with service.lock:
                service.connections += 1
            accepted(self)
            super().setup()

        def do_PUT(self) -> None:
            body = self.body()
            with service.lock:
                service.paths.append(self.path)
            react(service, self, body)

    class Server(ThreadingHTTPServer):
        daemon_threads, request_queue_size = True, 64

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that hung up is no news."""

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    service.endpoint = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=lambda: server.serve_forever(0.05), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
