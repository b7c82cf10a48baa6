"""The store in a bucket, many puts at a time: connections are made aside, used again, and few are enough."""

import datetime as dt
import hashlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.credentials import RefreshableCredentials
from botocore.exceptions import ClientError

from small_service import KEYS, Asked, Small, small
from spoteval.clock import monotonic_s
from spoteval.store import s3
from spoteval.store.contract import Put, StoreError
from spoteval.store.place import S3Place
from spoteval.store.s3 import LANES, S3Store
from tls_service import certificate

pytestmark = pytest.mark.runs("small services on loopback, in threads of this process")
ALL = {f"k{number:02d}": b"%d" % number for number in range(24)}


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Of a service, trusted here. It sends session tickets unasked, as TLS 1.3 has it (RFC 8446 4.6.1)."""
    both = certificate(tmp_path / "both.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(both))
    return context


def all_of(store: S3Store) -> dict[str, Put]:
    """All created, each by its first try."""
    found = dict(store.put_each(ALL.items()))
    return {key: answer for key, answer in found.items() if isinstance(answer, Put)}


@pytest.mark.parametrize("is_secure", [False, True])
def test_connections_are_used_again(tls: ssl.SSLContext, is_secure: bool) -> None:
    """In the next call too."""
    with small(tls=tls if is_secure else None) as service:
        store = service.store()
        assert all_of(store) == dict.fromkeys(ALL, Put.CREATED)
        assert all_of(store) == dict.fromkeys(ALL, Put.EXISTS)
        assert 1 <= service.connections <= LANES


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_service_with_room_for_few(tls: ssl.SSLContext, version: ssl.TLSVersion) -> None:
    """It leaves the handshakes of the others unanswered: what it takes is enough, and nobody waits for the rest."""
    tls.maximum_version = version
    room, over = threading.Semaphore(2), threading.Event()

    def accepted(_: Asked) -> None:
        if not room.acquire(blocking=False):
            over.wait(30.0)

    with small(tls=tls, accepted=accepted) as service:
        began_s = monotonic_s()
        hasty = service.store().until(began_s + 10.0)
        assert all_of(hasty) == dict.fromkeys(ALL, Put.CREATED)
        over.set()


def test_handshakes_do_not_wait_for_each_other(tls: ssl.SSLContext) -> None:
    """A service that ends each connection after its answer: others are made while puts are under way."""
    least, together = [0], threading.Barrier(3, action=lambda: least.__setitem__(0, 3))

    def accepted(_: Asked) -> None:
        try:
            together.wait(10.0)
        except threading.BrokenBarrierError:
            least.append(0)

    def react(service: Small, asked: Asked, body: bytes) -> None:
        service.take(asked, body, close=True)

    with small(react, tls=tls, accepted=accepted) as service:
        assert all_of(service.store()) == dict.fromkeys(ALL, Put.CREATED)
    assert least[0] == 3


def test_bytes_that_are_not_named_fail_alone() -> None:
    """A service without conditions, and once an ETag that is no digest: as of a single put, and no other is held up."""

    def react(_: Small, asked: Asked, body: bytes) -> None:
        if "If-None-Match" in asked.headers:
            asked.say(501, b"<Error><Code>NotImplemented</Code></Error>")
            return
        weak = "W/" if asked.path.endswith("k03") else ""
        asked.say(200, etag=f'{weak}"{hashlib.md5(body).hexdigest()}"')

    with small(react) as service:
        store = service.store()
        assert store.put("probe", b"x") is Put.ACKNOWLEDGED
        found = dict(store.put_each(ALL.items()))
    later = found.pop("k03")
    assert set(found.values()) == {Put.ACKNOWLEDGED}
    assert not isinstance(later, Put)
    with pytest.raises(StoreError, match="does not say which bytes"):
        later()


@pytest.mark.parametrize(
    "error",
    [
        ClientError({"Error": {"Code": "AccessDenied"}}, "AssumeRoleWithWebIdentity"),
        FileNotFoundError(2, "No such file or directory"),
    ],
    ids=["refused", "no token"],
)
def test_a_role_whose_key_cannot_be_read_is_an_error_of_the_store(error: Exception) -> None:
    """Nothing is tried; who asks for one alone is told."""

    def refresh() -> dict[str, str]:
        raise error

    old = dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)
    with small() as service:
        store = service.store()
        key = RefreshableCredentials("a", "b", "c", old, refresh, "assume-role")
        store._kept.signer()._credentials = key
        assert dict(store.put_each(ALL.items())) == {}
        with pytest.raises(StoreError):
            store.until(monotonic_s() + 1.0).put("k00", b"0")


@pytest.fixture
def garbage() -> Iterator[int]:
    """The port of something that speaks another protocol."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    one, _ = listening.accept()
                except OSError:
                    return
                one.recv(65536)
                one.sendall(b"SSH-2.0-x\r\n\r\n")
                one.close()

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def test_garbage_from_a_proxy_is_no_traceback(
    garbage: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor anything else in the journal; nothing is tried."""
    said = list[str]()
    monkeypatch.setattr(threading, "excepthook", lambda args: said.append(args.exc_type.__name__))
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{garbage}")
    place = S3Place("https://store.example:443", "x", lambda: KEYS)
    assert dict(S3Store("s3://evals/x", place).put_each(ALL.items())) == {}
    assert said == []


def test_what_goes_on_has_time_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """It failed at the beginning; the others took longer than a call may."""
    monkeypatch.setattr(s3, "CALL_S", 2.5)
    slow = threading.Event()

    def react(service: Small, asked: Asked, body: bytes) -> None:
        if len(service.paths) == 1:
            asked.say(503, b"<Error><Code>SlowDown</Code></Error>")
        else:
            slow.wait(0.5)
            service.take(asked, body)

    with small(react) as service:
        found = dict(service.store().put_each(ALL.items(), 4))
        (later,) = [answer for answer in found.values() if not isinstance(answer, Put)]
        slow.set()
        assert later() is Put.CREATED
        assert len(service.objects) == len(ALL)
