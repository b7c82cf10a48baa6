"""One HTTP/1.1 exchange over one connection, in steps that end where it would wait: who drives them waits.

A socket's own timeout bounds one silence; a service that sends a byte a second would pass it for ever.

Why not http.client: it reads a head with the parser of mail, which a put pays for in CPU at each answer.
It also takes a head that was cut short for a whole one. What mends both reads heads itself, and leans on attributes of
HTTPResponse that nobody promises, to save not a tenth of these lines.
"""

import re
import select
import socket
import ssl
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple, TypeVar

from spoteval.store.deadline import LOOK_S, Deadline, Overrun
from spoteval.store.http_head import Garbled, parsed
from spoteval.store.pace import Pace

A = TypeVar("A")
R = TypeVar("R")
Steps = Generator[int, None, R]
"""Yields what it waits for, POLLIN or POLLOUT, and is resumed once that is so."""
READ_S = 8.0
"""Longest silence of a socket: so short that one more try fits into a call's 20 s."""
_MOST_HEAD, _CHUNK = 1 << 16, 1 << 18
_HEX = re.compile(rb"[0-9A-Fa-f]{1,16}")
_FIRST_LOOK = b"\r\n\r\n"


class _Ended(ConnectionResetError):
    """The other side has sent its last byte, and said so: it did not break off."""


class Answer(NamedTuple):
    """Status, headers by lower-case name, and the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Connection:
    """One socket, and what was read of it beyond the last answer."""

    def __init__(self, sock: socket.socket) -> None:
        # A timeout of the socket's own costs two calls of the kernel for each piece, also where nothing is waited for.
        sock.settimeout(0)
        self._sock, self._rest = sock, b""
        self._readable, self._writable = _poll(sock, select.POLLIN), _poll(sock, select.POLLOUT)
        self._waits_first = not isinstance(sock, ssl.SSLSocket)
        self.used_s, self.is_kept = 0.0, True

    def fileno(self) -> int:
        """Of its socket."""
        return self._sock.fileno()

    def close(self) -> None:
        """Give it back."""
        with suppress(OSError):
            self._sock.close()

    def has_news(self) -> bool:
        """Whether something can be read though nothing was asked: mostly its end."""
        if self._rest or not self._readable.poll(0):
            return bool(self._rest)
        if not isinstance(self._sock, ssl.SSLSocket):
            return True
        try:
            self._sock.recv(1)
        except ssl.SSLWantReadError:  # of TLS itself: tickets, which a service sends unasked
            return False
        except OSError:
            pass
        return True

    def ask(
        self,
        head: bytes,
        body: Iterable[bytes | memoryview],
        deadline: Deadline,
        bare: bool,
        pace: Pace | None = None,
    ) -> Answer:
        """One request and its answer; waits for it. Raises OSError, Garbled and Overrun."""
        return self._driven(self.steps(head, body, deadline, bare, pace), deadline)

    def steps(
        self,
        head: bytes,
        body: Iterable[bytes | memoryview],
        deadline: Deadline,
        bare: bool,
        pace: Pace | None = None,
    ) -> Steps[Answer]:
        """The same in steps. A service may refuse before it has read all: then its answer is read first."""
        try:
            for piece in _with_head(head, body):
                yield from self._send(piece, deadline, pace)
        except TimeoutError:
            raise
        except OSError:
            self.is_kept = False
            with suppress(OSError, Garbled):
                return (yield from self._answer(deadline, bare))
            raise
        if self._waits_first and not self._rest:
            yield select.POLLIN  # no answer is there at once, and to look costs a call of the kernel
        return (yield from self._answer(deadline, bare))

    def _driven(self, steps: Steps[R], deadline: Deadline) -> R:
        """Wait where they would: after READ_S of silence TimeoutError, at the deadline Overrun."""
        silent_s = 0.0
        try:
            awaited = next(steps)
            while True:
                wait_s = max(0.0, min(LOOK_S, READ_S - silent_s, deadline.left_s))
                ready = self._readable if awaited == select.POLLIN else self._writable
                if ready.poll(wait_s * 1000):
                    silent_s, awaited = 0.0, next(steps)
                    continue
                silent_s += wait_s
                if (error := overdue(silent_s, deadline)) is not None:
                    silent_s, awaited = 0.0, steps.throw(error)
        except StopIteration as end:
            found: R = end.value
            return found

    def _send(self, data: bytes | memoryview, deadline: Deadline, pace: Pace | None) -> Steps[None]:
        view = memoryview(data)
        most = _CHUNK if pace is None else pace.piece_bytes
        while view:
            piece = view[:most]
            if pace is not None:
                pace.wait(len(piece), deadline)
            view = view[len(piece) :]
            while piece:
                sent = yield from self._patient(self._sock.send, piece, select.POLLOUT, deadline)
                piece = piece[sent:]

    def _answer(self, deadline: Deadline, bare: bool) -> Steps[Answer]:
        while True:
            status, headers = parsed((yield from self._head(deadline)))
            if status >= 200:
                break
        asked_to_close = "close" in headers.get("connection", "").lower()
        self.is_kept = self.is_kept and not asked_to_close
        body = yield from self._body(status, headers, deadline, bare)
        return Answer(status, headers, body)

    def _head(self, deadline: Deadline) -> Steps[bytes]:
        while (end := self._rest.find(_FIRST_LOOK)) < 0:
            if len(self._rest) > _MOST_HEAD:
                raise Garbled("too long a head")
            self._rest += yield from self._received(deadline)
        head, self._rest = self._rest[:end], self._rest[end + 4 :]
        return head

    def _body(
        self, status: int, headers: Mapping[str, str], deadline: Deadline, bare: bool
    ) -> Steps[bytes]:
        if bare or status in (204, 304):
            return b""
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return (yield from self._chunks(deadline))
        length = headers.get("content-length")
        if length is None:
            self.is_kept = False
            return (yield from self._to_end(deadline))
        if not (length.isascii() and length.isdigit()):
            raise Garbled("no length")
        return (yield from self._exactly(int(length), deadline))

    def _exactly(self, size: int, deadline: Deadline) -> Steps[bytes]:
        if len(self._rest) >= size:
            data, self._rest = self._rest[:size], self._rest[size:]
            return data
        data, self._rest = self._rest, b""
        pieces, left = [data], size - len(data)
        while left > 0:
            piece = yield from self._received(deadline, left)
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def _chunks(self, deadline: Deadline) -> Steps[bytes]:
        pieces = list[bytes]()
        while True:
            size = _hexadecimal((yield from self._line(deadline)).partition(b";")[0])
            if size == 0:
                while (yield from self._line(deadline)):
                    continue  # trailers
                return b"".join(pieces)
            pieces.append((yield from self._exactly(size, deadline)))
            if (yield from self._line(deadline)):
                raise Garbled("a chunk does not end where it should")

    def _line(self, deadline: Deadline) -> Steps[bytes]:
        while (end := self._rest.find(b"\r\n")) < 0:
            if len(self._rest) > _MOST_HEAD:
                raise Garbled("too long a line")
            self._rest += yield from self._received(deadline)
        line, self._rest = self._rest[:end], self._rest[end + 2 :]
        return line

    def _to_end(self, deadline: Deadline) -> Steps[bytes]:
        pieces, self._rest = [self._rest], b""
        with suppress(_Ended):  # a reset is none: what came before it may be half of the answer
            while True:
                pieces.append((yield from self._received(deadline)))
        return b"".join(pieces)

    def _received(self, deadline: Deadline, most: int = _CHUNK) -> Steps[bytes]:
        piece = yield from self._patient(
            self._sock.recv, min(most, _CHUNK), select.POLLIN, deadline
        )
        if not piece:
            raise _Ended(104, "Connection reset by peer")
        return piece

    def _patient(
        self, act: Callable[[A], R], argument: A, event: int, deadline: Deadline
    ) -> Steps[R]:
        """One send or receive. TLS may have to read before it can write, and the other way round."""
        while True:
            if deadline.left_s <= 0:
                raise Overrun
            try:
                return act(argument)
            except BlockingIOError:
                awaited = event
            except ssl.SSLWantReadError:
                awaited = select.POLLIN
            except ssl.SSLWantWriteError:
                awaited = select.POLLOUT
            yield awaited


def overdue(silent_s: float, deadline: Deadline) -> Exception | None:
    """What ends an exchange after so long a silence: at the deadline Overrun, after READ_S TimeoutError, else None."""
    if deadline.left_s <= 0:
        return Overrun()
    return TimeoutError("timed out") if silent_s >= READ_S else None


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


def _hexadecimal(text: bytes) -> int:
    if _HEX.fullmatch(text.strip()) is None:  # int() would take signs, underscores and prefixes
        raise Garbled("no chunk")
    return int(text, 16)
