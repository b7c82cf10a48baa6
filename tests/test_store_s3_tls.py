"""The store in a bucket over TLS, where newer clients would send a checksum as a trailer that many services refuse.

Also through a proxy, which is asked for a tunnel (CONNECT, RFC 9110 9.3.6) and sees nothing of what goes through it.
"""

import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from spoteval.store.contract import Put, StoreError
from spoteval.store.keys import AccessKeys
from spoteval.store.place import S3Place
from spoteval.store.s3 import S3Store
from tls_service import Service, tls_service

KEYS = AccessKeys("AKIAEXAMPLE", "secret")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One for all."""
    with tls_service(tmp_path_factory.mktemp("tls")) as one:
        yield one


def test_a_put_over_tls_is_plain(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Length and bytes as they are: no chunks, no trailer; a certificate of one's own is trusted by its file."""
    monkeypatch.setenv("AWS_CA_BUNDLE", str(service.certificate))
    store = S3Store("s3://evals/x", S3Place(service.endpoint, "x", lambda: KEYS))
    source = tmp_path / "file"
    source.write_bytes(b"body")
    assert store.put("a", b"body") is Put.CREATED
    assert store.put_file("b", source) is Put.CREATED
    for headers, body in service.seen:
        assert body == b"body"
        names = {name.lower() for name in headers}
        assert not {"transfer-encoding", "x-amz-trailer", "content-encoding"} & names
        assert headers["If-None-Match"] == "*"


def test_many_puts_at_a_time_over_tls(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer that reads before it writes, and writes in records, is driven by one thread too."""
    monkeypatch.setenv("AWS_CA_BUNDLE", str(service.certificate))
    store = S3Store("s3://evals/x", S3Place(service.endpoint, "x", lambda: KEYS))
    service.seen.clear()
    wanted = {f"many/{number}": b"%d" % number * 300_000 for number in range(12)}
    found = dict(store.put_each(wanted.items()))
    assert found == dict.fromkeys(wanted, Put.CREATED)
    assert sorted(body for _, body in service.seen) == sorted(wanted.values())


def test_a_stranger_s_certificate_is_refused(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, and the line says where to look."""
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    store = S3Store("s3://evals/x", S3Place(service.endpoint, "x", lambda: KEYS))
    before = len(service.seen)
    with pytest.raises(StoreError, match=r"TLS failed \(its certificate, AWS_CA_BUNDLE"):
        store.put("a", b"body")
    assert len(service.seen) == before


@contextmanager
def tunnel(
    answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n",
) -> Iterator[tuple[str, list[str]]]:
    """A proxy that answers to CONNECT, and then carries bytes both ways; its address, and the heads that came."""
    heads: list[str] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                one, _ = listening.accept()
                threading.Thread(target=_tunnelled, args=(one, answer, heads), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield f"127.0.0.1:{listening.getsockname()[1]}", heads
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()


def _tunnelled(one: socket.socket, answer: bytes, heads: list[str]) -> None:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += one.recv(1)
    heads.append(head.decode())
    one.sendall(answer)
    if b" 200 " not in answer:
        one.close()
        return
    host, _, port = head.split()[1].decode().rpartition(":")
    other = socket.create_connection((host, int(port)))
    back = threading.Thread(target=_carry, args=(other, one), daemon=True)
    back.start()
    _carry(one, other)


def _carry(come: socket.socket, go: socket.socket) -> None:
    with suppress(OSError):
        while piece := come.recv(1 << 16):
            go.sendall(piece)
        go.shutdown(socket.SHUT_WR)


@pytest.fixture
def behind(service: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    """The service, trusted, and whatever proxy a test names."""
    for name in ("NO_PROXY", "no_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(service.certificate))
    service.seen.clear()
    return service


def test_a_tunnel_is_asked_of_the_proxy_once_for_many_puts(
    behind: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By name and port, with the proxy's own credential and nothing of the store's."""
    with tunnel() as (place, heads):
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:pass%20word@{place}")
        store = S3Store("s3://evals/x", S3Place(behind.endpoint, "x", lambda: KEYS))
        for key in ("a", "b", "c"):
            assert store.put(key, key.encode()) is Put.CREATED
    to = urlsplit(behind.endpoint).netloc
    credential = b64encode(b"me:pass word").decode()
    assert heads == [
        f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\nProxy-Authorization: Basic {credential}\r\n\r\n"
    ]
    assert [body for _, body in behind.seen] == [b"a", b"b", b"c"]
    assert not [headers for headers, _ in behind.seen if "Proxy-Authorization" in headers]


def test_a_stranger_behind_a_tunnel_is_refused(
    behind: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy that reads along has no certificate of the service."""
    monkeypatch.delenv("AWS_CA_BUNDLE")
    with tunnel() as (place, _):
        monkeypatch.setenv("HTTPS_PROXY", f"http://{place}")
        store = S3Store("s3://evals/x", S3Place(behind.endpoint, "x", lambda: KEYS))
        with pytest.raises(StoreError, match=r"TLS failed \(its certificate, AWS_CA_BUNDLE"):
            store.put("a", b"body")
    assert behind.seen == []


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 502 Bad Gateway\r\n\r\n",
    ],
)
def test_a_proxy_that_will_not_connect_is_said(
    behind: Service, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    """It is the proxy that a person has to look at, not the store."""
    with tunnel(answer) as (place, _):
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@{place}")
        store = S3Store("s3://evals/x", S3Place(behind.endpoint, "x", lambda: KEYS))
        with pytest.raises(StoreError, match="proxy") as raised:
            store.put("a", b"body")
    assert "secret" not in str(raised.value)
    assert behind.seen == []
