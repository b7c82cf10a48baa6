"""store.http_exchange: answers in chunks and without a length, whole or not at all."""

import select
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoteval.clock import monotonic_s
from spoteval.store.deadline import Deadline
from spoteval.store.http_exchange import Answer, Connection
from spoteval.store.http_head import Garbled, parsed

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
NO_LENGTH = b"HTTP/1.1 200 OK\r\nETag: x\r\n\r\n"
ASKED = b"GET / HTTP/1.1\r\n\r\n"


@contextmanager
def connected() -> Iterator[tuple[Connection, socket.socket]]:
    """A connection over loopback, and its other end."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ours = socket.create_connection(listening.getsockname())
        theirs, _ = listening.accept()
    with ours, theirs:
        yield Connection(ours), theirs


def ask(connection: Connection) -> Answer:
    """One question."""
    return connection.ask(ASKED, (), Deadline(monotonic_s, 5.0), bare=False)


def chunked(pieces: list[bytes], extension: bytes = b"", trailer: bytes = b"") -> bytes:
    """As RFC 9112 7.1 has it."""
    lines = b"".join(b"%x%s\r\n%s\r\n" % (len(one), extension, one) for one in pieces)
    return lines + b"0\r\n" + trailer + b"\r\n"


@given(
    pieces=st.lists(st.binary(min_size=1, max_size=300), max_size=6),
    extension=st.sampled_from([b"", b";name=value", b' ;q="a;b"']),
    trailer=st.sampled_from([b"", b"x-amz-checksum-crc32: AAAA\r\n", b"A: b\r\nC: d\r\n"]),
)
def test_chunks_are_put_together_and_the_connection_goes_on(
    pieces: list[bytes], extension: bytes, trailer: bytes
) -> None:
    """What follows the last one is the next answer, nothing of it is lost."""
    with connected() as (connection, theirs):
        theirs.sendall(HEAD + chunked(pieces, extension, trailer) + HEAD + chunked([b"next"]))
        assert ask(connection).body == b"".join(pieces)
        assert connection.is_kept
        assert ask(connection).body == b"next"


def test_a_chunked_answer_cut_at_each_byte_is_none() -> None:
    """Whatever came, it is not taken for the whole."""
    whole = chunked([b"first", b"second"])
    for cut in range(len(whole)):
        with connected() as (connection, theirs):
            theirs.sendall(HEAD + whole[:cut])
            theirs.shutdown(socket.SHUT_WR)
            with pytest.raises(ConnectionResetError):
                ask(connection)


@pytest.mark.parametrize(
    "body", [b"-5\r\n", b"0x5\r\nabcde\r\n", b"1_0\r\n", b"\r\n", b"zz\r\n", b"3\r\nabcd\r\n", b"+3\r\nabc\r\n"]
)  # fmt: skip
def test_what_is_no_chunk_is_garbled(body: bytes) -> None:
    """A size is hexadecimal digits, and a chunk ends where its size says."""
    with connected() as (connection, theirs):
        theirs.sendall(HEAD + body)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(Garbled):
            ask(connection)


def test_a_size_that_does_not_end_is_not_waited_for() -> None:
    """Memory is bounded."""
    with connected() as (connection, theirs):
        theirs.sendall(HEAD + b"0" * 140_000)
        with pytest.raises(Garbled, match="too long a line"):
            ask(connection)


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    """Closed as it should be, it is whole; the connection is not used again."""
    with connected() as (connection, theirs):
        theirs.sendall(NO_LENGTH + b"all of it")
        theirs.shutdown(socket.SHUT_WR)
        assert ask(connection).body == b"all of it"
        assert not connection.is_kept


def test_a_reset_is_no_end() -> None:
    """Half an answer was taken for a whole one: a listing, say, that lacks its second half."""
    with connected() as (connection, theirs):
        theirs.sendall(NO_LENGTH + b"half of")
        # Linger of zero: close() sends a reset in the place of an orderly end (socket(7)).
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        steps = connection.steps(ASKED, (), Deadline(monotonic_s, 5.0), bare=False)
        assert next(steps) == select.POLLIN  # all is sent
        assert next(steps) == select.POLLIN  # all that came is read
        theirs.close()
        with pytest.raises(ConnectionResetError):
            next(steps)


NAMES = st.text("abcXYZ-", min_size=1, max_size=8)
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=255), max_size=12).map(str.strip)


@given(st.lists(st.tuples(NAMES, VALUES), max_size=6))
def test_headers_by_name(fields: list[tuple[str, str]]) -> None:
    """In whatever case they came, without the blanks around them; the last of a name counts."""
    lines = ["HTTP/1.1 200 OK", *(f"{name}: {value} " for name, value in fields)]
    status, headers = parsed("\r\n".join(lines).encode("latin-1"))
    wanted = {name.lower(): value for name, value in fields}
    assert status == 200
    assert dict(headers) == wanted
    assert all(headers[name] == headers.get(name) == value for name, value in wanted.items())
    assert len(headers) == len(wanted)
    assert headers.get("other") is None
    assert headers.get("other", "none") == "none"
    with pytest.raises(KeyError):
        headers["other"]


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("said", [None, "keep-alive"])
def test_what_an_old_service_does_not_say_is_to_close(version: str, said: str | None) -> None:
    """HTTP/1.0 keeps a connection only where it says so (RFC 9112 9.3)."""
    lines = [f"HTTP/{version} 200 OK", *([f"Connection: {said}"] if said else [])]
    _, headers = parsed("\r\n".join(lines).encode())
    assert headers.get("connection", "") == (said or ("close" if version == "1.0" else ""))


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1", b"HTTP/2 200 OK", b"HTTP/1.1 OK", b"SSH-2.0 x"])
def test_what_is_no_head_is_garbled(head: bytes) -> None:
    """Something answered that speaks another protocol."""
    with pytest.raises(Garbled):
        parsed(head)
