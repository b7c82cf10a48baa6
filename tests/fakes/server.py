"""A cloud's HTTP on loopback: every request is written down, held against a policy, and can be answered badly."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case
    body: str

    @property
    def table(self) -> Any:
        """Its JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What is sent back. `then`: what the wire does besides answering."""

    status: int = 200
    body: object = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    then: str = ""  # "", "hang" (never an answer), "half" (cut inside the body), "reset", "drip"

    @property
    def raw(self) -> bytes:
        """The body on the wire."""
        if isinstance(self.body, bytes):
            return self.body
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return text.encode()


@dataclass
class Trouble:
    """What goes wrong with requests of one kind, for ever or so many times. `after`: the cloud obeys all the same."""

    reply: Reply
    matches: Callable[[Asked], bool] = lambda _: True
    times: int | None = None
    after: bool = False


class FakeServer:
    """Inherit, and answer in `handle`."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.troubles: list[Trouble] = []
        self.over = threading.Event()
        self._lock = threading.RLock()
        self._server = _Server(self)

    def handle(self, asked: Asked) -> Reply:
        """The answer of a cloud in good health."""
        raise NotImplementedError

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def count(self, method: str, ending: str) -> int:
        """Requests of that method whose path ends so."""
        return sum(one.method == method and one.path.endswith(ending) for one in self.asked)

    def goes_wrong(
        self,
        reply: Reply,
        matches: Callable[[Asked], bool] = lambda _: True,
        times: int | None = None,
        *,
        after: bool = False,
    ) -> None:
        """Requests are answered so; the newest trouble that fits comes first."""
        self.troubles.insert(0, Trouble(reply, matches, times, after))

    def recovers(self) -> None:
        """All is well again."""
        self.troubles.clear()

    def answer(self, asked: Asked) -> Reply:
        """Written down, and answered one at a time."""
        with self._lock:
            self.asked.append(asked)
            trouble = next((one for one in self.troubles if one.matches(asked)), None)
            if trouble is None:
                return self.handle(asked)
            if trouble.times is not None:
                trouble.times -= 1
                self.troubles = [one for one in self.troubles if one.times != 0]
            if trouble.after:
                self.handle(asked)
            return trouble.reply

    @contextmanager
    def listening(self) -> Iterator["FakeServer"]:
        """Until the end of the block; whatever hangs is let go then."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.over.set()
            self._server.shutdown()
            self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, fake: FakeServer) -> None:
        self.fake = fake
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def _any(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        asked = Asked(
            method=self.command,
            path=parts.path,
            query=dict(parse_qsl(parts.query, keep_blank_values=True)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(length).decode(),
        )
        self._send(self.server.fake.answer(asked))

    do_GET = do_POST = do_PUT = do_DELETE = _any  # noqa: N815 - the library's names

    def _send(self, reply: Reply) -> None:
        if reply.then in ("hang", "reset"):
            if reply.then == "hang":
                self.server.fake.over.wait(30)
            self.close_connection = True
            return
        raw = reply.raw
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if "Content-Type" not in reply.headers:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw) + (16 if reply.then == "half" else 0)))
        self.end_headers()
        if reply.then == "drip":
            self._drip(raw)
        else:
            self.wfile.write(raw)
        self.close_connection = self.close_connection or reply.then != ""

    def _drip(self, raw: bytes) -> None:
        for byte in raw:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            if self.server.fake.over.wait(0.05):
                return

    def log_message(self, *args: object) -> None:
        """Nothing on the terminal."""
