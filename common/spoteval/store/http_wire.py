"""HTTP/1.1 over kept-alive connections, each byte under a deadline: what the hot path of a store sends over.

A socket's own timeout bounds one silence; a service that sends a byte a second would pass it for ever.

Why not http.client: it reads a head with the parser of mail, which a put pays for in CPU at each answer.
It also takes a head that was cut short for a whole one. What mends both reads heads itself, and leans on attributes of
HTTPResponse that nobody promises, to save not a tenth of these lines.
"""

import re
import select
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import TypeVar

from spoteval.store.deadline import LOOK_S, Deadline, Overrun, bounded
from spoteval.store.pace import Pace

A = TypeVar("A")
R = TypeVar("R")
CONNECT_S, READ_S = 4.0, 8.0
"""Longest silence of a socket: so short that one more try fits into a call's 20 s."""
IDLE_S = 15.0
"""A connection that lay idle for longer is not used again: services close them after 20 s and more."""
_MOST_HEAD, _CHUNK = 1 << 16, 1 << 18
_HEX = re.compile(rb"[0-9A-Fa-f]{1,16}")
_FIRST_LOOK = b"\r\n\r\n"


class Garbled(HTTPException):
    """What came is no HTTP answer."""


class _Ended(ConnectionResetError):
    """The other side has sent its last byte, and said so: it did not break off."""


class ProxyDown(OSError):
    """The proxy of the environment does not answer, or will not connect."""


class TlsFailed(OSError):
    """No trusted connection came about."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers by lower-case name, and the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Route:
    """Where requests go. `proxy`: host, port and the value of Proxy-Authorization."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    proxy: tuple[str, int, str | None] | None = None

    @property
    def netloc(self) -> str:
        """As the Host header has it: the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


@dataclass
class Pool:
    """Connections of one route, as many as are in use at a time. Threads may share it."""

    route: Route
    clock: Callable[[], float]
    _idle: "list[Connection]" = field(default_factory=list, repr=False)

    def ask(
        self,
        head: bytes,
        body: Iterable[bytes | memoryview],
        deadline: Deadline,
        *,
        bare: bool,
        pace: Pace | None = None,
    ) -> Answer:
        """Send a request, read its answer (`bare`: none has a body). Raises OSError, Garbled and Overrun.

        `pace`: how fast, where there is a limit.
        """
        connection = self._taken() or Connection(_opened(self.route, deadline))
        try:
            answer = connection.ask(head, body, deadline, bare, pace)
        except BaseException:
            connection.close()
            raise
        if connection.is_kept:
            connection.used_s = self.clock()
            self._idle.append(connection)
        else:
            connection.close()
        return answer

    def _taken(self) -> "Connection | None":
        """The one used last: the others grow old. One in which something stands unasked was closed by the service."""
        while self._idle:
            with suppress(IndexError):  # another thread took it
                one = self._idle.pop()
                if self.clock() - one.used_s <= IDLE_S and not one.has_news():
                    return one
                one.close()
        return None


class Connection:
    """One socket, and what was read of it beyond the last answer."""

    def __init__(self, sock: socket.socket) -> None:
        # A timeout of the socket's own costs two calls of the kernel for each piece, also where nothing is waited for.
        sock.settimeout(0)
        self._sock, self._rest = sock, b""
        self._readable, self._writable = _poll(sock, select.POLLIN), _poll(sock, select.POLLOUT)
        self.used_s, self.is_kept = 0.0, True

    def close(self) -> None:
        """Give it back."""
        with suppress(OSError):
            self._sock.close()

    def has_news(self) -> bool:
        """Whether something can be read though nothing was asked: mostly its end."""
        return bool(self._rest) or bool(self._readable.poll(0))

    def ask(
        self,
        head: bytes,
        body: Iterable[bytes | memoryview],
        deadline: Deadline,
        bare: bool,
        pace: Pace | None = None,
    ) -> Answer:
        """One request and its answer. A service may refuse before it has read all: then its answer is read first."""
        try:
            for piece in _with_head(head, body):
                self._send(piece, deadline, pace)
        except TimeoutError:
            raise
        except OSError:
            self.is_kept = False
            with suppress(OSError, Garbled):
                return self._answer(deadline, bare)
            raise
        return self._answer(deadline, bare)

    def _send(self, data: bytes | memoryview, deadline: Deadline, pace: Pace | None) -> None:
        view = memoryview(data)
        most = _CHUNK if pace is None else pace.piece_bytes
        while view:
            piece = view[:most]
            if pace is not None:
                pace.wait(len(piece), deadline)
            view = view[len(piece) :]
            while piece:
                sent = self._patient(self._sock.send, piece, self._writable, deadline)
                piece = piece[sent:]

    def _answer(self, deadline: Deadline, bare: bool) -> Answer:
        while True:
            status, headers = _parsed(self._head(deadline))
            if status >= 200:
                break
        asked_to_close = "close" in headers.get("connection", "").lower()
        self.is_kept = self.is_kept and not asked_to_close
        return Answer(status, headers, self._body(status, headers, deadline, bare))

    def _head(self, deadline: Deadline) -> bytes:
        while (end := self._rest.find(_FIRST_LOOK)) < 0:
            if len(self._rest) > _MOST_HEAD:
                raise Garbled("too long a head")
            self._rest += self._received(deadline)
        head, self._rest = self._rest[:end], self._rest[end + 4 :]
        return head

    def _body(
        self, status: int, headers: Mapping[str, str], deadline: Deadline, bare: bool
    ) -> bytes:
        if bare or status in (204, 304):
            return b""
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return self._chunks(deadline)
        length = headers.get("content-length")
        if length is None:
            self.is_kept = False
            return self._to_end(deadline)
        if not (length.isascii() and length.isdigit()):
            raise Garbled("no length")
        return self._exactly(int(length), deadline)

    def _exactly(self, size: int, deadline: Deadline) -> bytes:
        if len(self._rest) >= size:
            data, self._rest = self._rest[:size], self._rest[size:]
            return data
        data, self._rest = self._rest, b""
        pieces, left = [data], size - len(data)
        while left > 0:
            piece = self._received(deadline, left)
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def _chunks(self, deadline: Deadline) -> bytes:
        pieces = list[bytes]()
        while True:
            size = _hexadecimal(self._line(deadline).partition(b";")[0])
            if size == 0:
                while self._line(deadline):
                    continue  # trailers
                return b"".join(pieces)
            pieces.append(self._exactly(size, deadline))
            if self._line(deadline):
                raise Garbled("a chunk does not end where it should")

    def _line(self, deadline: Deadline) -> bytes:
        while (end := self._rest.find(b"\r\n")) < 0:
            if len(self._rest) > _MOST_HEAD:
                raise Garbled("too long a line")
            self._rest += self._received(deadline)
        line, self._rest = self._rest[:end], self._rest[end + 2 :]
        return line

    def _to_end(self, deadline: Deadline) -> bytes:
        pieces, self._rest = [self._rest], b""
        with suppress(_Ended):  # a reset is none: what came before it may be half of the answer
            while True:
                pieces.append(self._received(deadline))
        return b"".join(pieces)

    def _received(self, deadline: Deadline, most: int = _CHUNK) -> bytes:
        piece = self._patient(self._sock.recv, min(most, _CHUNK), self._readable, deadline)
        if not piece:
            raise _Ended(104, "Connection reset by peer")
        return piece

    def _patient(
        self, act: Callable[[A], R], argument: A, ready: "select.poll", deadline: Deadline
    ) -> R:
        """One send or receive: after READ_S of silence TimeoutError, at the deadline Overrun.

        TLS may have to read before it can write, and the other way round.
        """
        silent_s = 0.0
        while True:
            left_s = deadline.left_s
            if left_s <= 0:
                raise Overrun
            try:
                return act(argument)
            except BlockingIOError:
                awaited = ready
            except ssl.SSLWantReadError:
                awaited = self._readable
            except ssl.SSLWantWriteError:
                awaited = self._writable
            wait_s = min(LOOK_S, READ_S - silent_s, left_s)
            if not awaited.poll(wait_s * 1000):
                silent_s += wait_s
                if silent_s >= READ_S:
                    raise TimeoutError("timed out")


def _with_head(head: bytes, body: Iterable[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """The pieces of a request; a small first one goes in one piece with the head, so that one call sends both."""
    for piece in body:
        if head and len(piece) <= _CHUNK:
            piece = b"".join((head, piece))  # noqa: PLW2901 - what is yielded
        elif head:
            yield head
        head = b""
        yield piece
    if head:
        yield head


def _poll(sock: socket.socket, event: int) -> "select.poll":
    poll = select.poll()
    poll.register(sock, event)
    return poll


class _overrun:  # noqa: N801 - reads as the statement that it is
    """A silence that lasted to the deadline is its end, not one of many tries."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TimeoutError) and self._deadline.left_s <= 0:
            raise Overrun from None


def _opened(route: Route, deadline: Deadline) -> socket.socket:
    """A connection, through the proxy and TLS where there are such. Raises OSError, Overrun."""
    if route.proxy is None:
        sock = _connected(route.host, route.port, deadline)
    else:
        try:
            sock = _connected(route.proxy[0], route.proxy[1], deadline)
        except OSError as error:
            raise ProxyDown(error.errno, error.strerror) from error
    try:
        return _secured(sock, route, deadline)
    except BaseException:
        sock.close()
        raise


def _connected(host: str, port: int, deadline: Deadline) -> socket.socket:
    found = bounded(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), deadline)
    failed: OSError = OSError(113, "No route to host")
    for family, kind, protocol, _, address in found:
        if deadline.left_s <= 0:
            raise Overrun
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(min(CONNECT_S, deadline.left_s))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with _overrun(deadline):
                sock.connect(address)
        except OSError as error:
            sock.close()
            failed = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failed


def _secured(sock: socket.socket, route: Route, deadline: Deadline) -> socket.socket:
    if route.tls is None:
        return sock
    if route.proxy is not None:
        _tunnel(sock, route, deadline)
    sock.settimeout(max(0.01, min(READ_S, deadline.left_s)))
    try:
        with _overrun(deadline):
            # An end that TLS did not announce may be a cut: it is an error, not the end of an answer.
            return route.tls.wrap_socket(
                sock, server_hostname=route.host, suppress_ragged_eofs=False
            )
    except ssl.SSLError as error:
        raise TlsFailed(error.errno, "TLS failed") from error


def _tunnel(sock: socket.socket, route: Route, deadline: Deadline) -> None:
    assert route.proxy is not None
    to = f"[{route.host}]" if ":" in route.host else route.host
    lines = [f"CONNECT {to}:{route.port} HTTP/1.1", f"Host: {to}:{route.port}"]
    if route.proxy[2] is not None:
        lines.append(f"Proxy-Authorization: {route.proxy[2]}")
    head = ("\r\n".join(lines) + "\r\n\r\n").encode()
    answer = Connection(sock).ask(head, (), deadline, bare=True)
    if answer.status != 200:
        raise ProxyDown(0, f"the proxy answered {answer.status}")


def _parsed(head: bytes) -> tuple[int, dict[str, str]]:
    """Status and headers; raises Garbled for what is none."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
        raise Garbled("no status")
    headers = dict[str, str]()
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    if words[0] == "HTTP/1.0":
        headers.setdefault("connection", "close")
    return int(words[1]), headers


def _hexadecimal(text: bytes) -> int:
    if _HEX.fullmatch(text.strip()) is None:  # int() would take signs, underscores and prefixes
        raise Garbled("no chunk")
    return int(text, 16)
