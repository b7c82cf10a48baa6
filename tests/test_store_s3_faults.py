"""What the store in a bucket makes of a service that is slow, busy, or not what it says: moto behind a proxy."""

import hashlib
import json
import logging
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from fault_proxy import (
    CONFLICT,
    DEAF,
    LOST_ANSWER,
    NO_CONDITION,
    RESET,
    SLOW_DOWN,
    Fault,
    Proxy,
    proxy_to,
)
from s3_server import Service, free_port
from spoteval.clock import read_now
from spoteval.control.holds import place
from spoteval.hold import Hold
from spoteval.store.contract import Put, StoreError, StoreRefused
from spoteval.store.keys import AccessKeys
from spoteval.store.place import S3Place
from spoteval.store.s3 import CALL_S, S3Store
from spoteval.store.s3_patience import Patience

pytestmark = pytest.mark.runs("a real service on loopback, started once for all of them")


@dataclass
class Clock:
    """Time passes in pauses alone, and they take none."""

    passed_s: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        """Seconds."""
        return self.passed_s

    def sleep(self, seconds: float) -> None:
        """A pause."""
        self.pauses.append(seconds)
        self.passed_s += seconds

    def patience(self) -> Patience:
        """For a store; the dice always show 1."""
        return Patience(self, self.sleep, lambda: 1.0)


@dataclass(frozen=True)
class Bench:
    """A store behind a proxy, in an empty part of the bucket."""

    proxy: Proxy
    service: Service
    below: str
    clock: Clock
    store: S3Store

    def truth(self) -> dict[str, bytes]:
        """What the bucket holds, without the proxy."""
        reads = self.service.store("reader", self.below)
        return {item.key: reads.get(item.key) for item in reads.list("")}

    def faults(self, *faults: Fault) -> None:
        """What comes next."""
        self.proxy.faults[:] = faults


@pytest.fixture(scope="module")
def proxy(moto_service: Service) -> Iterator[Proxy]:
    """One proxy for all."""
    with proxy_to(moto_service.endpoint) as one:
        yield one


@pytest.fixture(scope="module")
def behind(proxy: Proxy, moto_service: Service) -> S3Store:
    """Its client is dear, so that there is one."""
    return S3Store(moto_service.url(), moto_service.place("control", proxy.endpoint))


@pytest.fixture
def bench(proxy: Proxy, behind: S3Store, moto_service: Service) -> Bench:
    """Fresh, without faults."""
    proxy.faults.clear()
    proxy.seen.clear()
    proxy.always = Fault()
    clock, below = Clock(), moto_service.fresh("instances")
    store = moto_service.part(behind, below)
    store._patience, store._kept.conditional = clock.patience(), True
    return Bench(proxy, moto_service, below, clock, store)


@pytest.mark.parametrize(
    "fault",
    [
        SLOW_DOWN,
        CONFLICT,
        Fault(429, "TooManyRequests"),
        Fault(500, "InternalError"),
        Fault(502, body="<html>Bad Gateway"),
        Fault(400, "RequestTimeout"),
        Fault(400, "BadDigest"),
        RESET,
    ],
    ids=lambda fault: f"{fault.status}-{fault.code or fault.body[:6]}-{fault.reset}",
)
def test_what_may_pass_is_tried_again(bench: Bench, fault: Fault) -> None:
    """Twice in the way, then it works: CREATED, the pauses double."""
    bench.faults(fault, fault)
    assert bench.store.put("a", b"x") is Put.CREATED
    assert bench.clock.pauses == [0.2, 0.4]
    assert bench.proxy.methods == ["PUT"] * 3
    assert bench.truth() == {"a": b"x"}


def test_tries_end_with_the_deadline(bench: Bench) -> None:
    """Not later than 20 s, and the line counts them; longer waits that the service asks for are kept."""
    bench.proxy.always = SLOW_DOWN
    with pytest.raises(
        StoreError, match=r"put: 503 SlowDown: the service cannot take it now \("
    ) as e:
        bench.store.put("a", b"x")
    assert not isinstance(e.value, StoreRefused)
    assert sum(bench.clock.pauses) <= CALL_S
    assert f"({len(bench.clock.pauses) + 1} tries)" in str(e.value)
    bench.clock.pauses.clear()
    bench.proxy.always = Fault(503, "SlowDown", {"Retry-After": "7"})
    with pytest.raises(StoreError):
        bench.store.put("a", b"x")
    assert bench.clock.pauses == [7.0, 7.0]


def test_a_lost_answer_is_an_object_that_exists(bench: Bench) -> None:
    """The first try made it, the second finds it: nothing is put twice, and that it may be ours is said."""
    bench.faults(LOST_ANSWER)
    assert bench.store.put("a", b"x") is Put.REPEATED
    assert bench.truth() == {"a": b"x"}
    bench.faults(SLOW_DOWN)
    assert bench.store.put("a", b"y") is Put.EXISTS  # a service that is busy has done nothing


def test_a_cut_answer_is_not_taken_for_the_object(bench: Bench) -> None:
    """Half of the body, then a reset: read again, and whole."""
    bench.store.put("a", b"x" * 5000)
    bench.faults(Fault(cut=100))
    assert bench.store.get("a") == b"x" * 5000
    bench.faults(Fault(cut=0))
    assert [item.size for item in bench.store.list("")] == [5000]


def test_damaged_bytes_are_not_returned(bench: Bench) -> None:
    """The object's own metadata names other bytes; no other try brings them, so it is an error."""
    bench.store.put("a", b"right")
    put = bench.service.raw("control").put_object
    name = f"team-a/{bench.below}/b"
    put(Bucket="evals", Key=name, Body=b"wrong", Metadata={"sha256": "0" * 64})
    with pytest.raises(StoreError, match="get: the bytes that came are not those that were put"):
        bench.store.get("b")
    assert bench.store.get("a") == b"right"


@pytest.mark.parametrize(
    ("fault", "refused", "said"),
    [
        (Fault(403, "AccessDenied"), True, "403 AccessDenied: this key may not do that"),
        (Fault(403, body=""), True, "403: this key may not do that"),
        (Fault(404, "NoSuchBucket"), False, "404 NoSuchBucket: no such bucket (create it"),
        (Fault(404, body="<html>not found"), False, "404: no S3 service answers there"),
        (Fault(400, "ExpiredToken"), False, "400 ExpiredToken: the key's token has expired"),
        (Fault(403, "InvalidAccessKeyId"), False, "InvalidAccessKeyId: the store does not know"),
        (Fault(403, "SignatureDoesNotMatch"), False, "the secret does not belong to this key"),
        (Fault(507, "InsufficientStorage"), False, "InsufficientStorage: the store is full"),
        (Fault(400, "EntityTooLarge"), True, "400 EntityTooLarge: the service refuses it"),
        (Fault(200, body="<html><p>Log in</p></html>"), False, "answered that is no S3 service"),
        (Fault(400, body="<html>Log in"), True, "400: the service refuses it"),
        (
            Fault(400, "AuthorizationHeaderMalformed", {"x-amz-bucket-region": "eu-west-1"}),
            False,
            'set [store] region "eu-west-1"',
        ),
    ],
    ids=lambda value: f"{value.status}-{value.code}" if isinstance(value, Fault) else "",
)
def test_each_refusal_says_what_to_do(bench: Bench, fault: Fault, refused: bool, said: str) -> None:
    """At once, in one line without what the service wrote; refused where it is about this key or object alone."""
    bench.proxy.always = fault
    with pytest.raises(StoreError) as error:
        list(bench.store.list("a"))
    text = str(error.value)
    assert text.startswith(f"{bench.store.url}/a: list: ")
    assert said in text
    assert isinstance(error.value, StoreRefused) is refused
    assert "\n" not in text
    assert "said the service" not in text
    assert bench.clock.pauses == []


@pytest.mark.parametrize("code", ["RequestTimeTooSkewed", "AccessDenied"])
@pytest.mark.parametrize(("by_s", "side"), [(1203, "slow"), (-1203, "fast")])
def test_a_clock_that_is_off_is_named(bench: Bench, code: str, by_s: int, side: str) -> None:
    """By how much, also where the service says that the key is wrong."""
    theirs = format_datetime(read_now().wall + timedelta(seconds=by_s))
    bench.proxy.always = Fault(403, code, {"Date": theirs})
    with pytest.raises(StoreError, match=rf"this host's clock is 120\d s {side}") as error:
        bench.store.put("a", b"x")
    assert not isinstance(error.value, StoreRefused)
    assert len(bench.proxy.seen) == 2  # signed anew with the service's time, once
    bench.store._kept.ahead_s = 0.0


def test_a_clock_that_is_off_is_corrected(bench: Bench) -> None:
    """The next try bears the service's time, and so does every later call; a person can be told."""
    theirs = format_datetime(read_now().wall + timedelta(seconds=1203))
    bench.faults(Fault(403, "RequestTimeTooSkewed", {"Date": theirs}))
    assert bench.store.put("a", b"x") is Put.CREATED
    assert bench.store.put("b", b"x") is Put.CREATED
    first, *later = (headers["X-Amz-Date"] for _, _, headers in bench.proxy.seen)
    assert len(later) == 2
    assert all(at > first[:11] + first[11:] for at in later)
    assert "this host's clock is 120" in str(bench.store.complaint)
    assert bench.clock.pauses == []
    bench.store._kept.ahead_s = 0.0


def test_a_service_without_conditions_acknowledges(bench: Bench) -> None:
    """501: put without the condition, said as such, and from then on not asked again."""
    bench.faults(NO_CONDITION)
    assert bench.store.put("a", b"x") is Put.ACKNOWLEDGED
    assert bench.store.put("b", b"y") is Put.ACKNOWLEDGED
    conditions = [headers.get("If-None-Match") for _, _, headers in bench.proxy.seen]
    assert conditions == ["*", None, None]
    assert bench.truth() == {"a": b"x", "b": b"y"}


def test_what_is_not_about_the_condition_does_not_end_it(bench: Bench) -> None:
    """501 to everything is an error, and the next put asks for create-only again."""
    bench.faults(NO_CONDITION, NO_CONDITION)
    with pytest.raises(StoreError, match="does not know this kind of request"):
        bench.store.put("a", b"x")
    assert bench.store.put("a", b"x") is Put.CREATED
    bench.faults(Fault(501, body="<html>"))
    with pytest.raises(StoreError, match="no S3 service"):
        bench.store.put("b", b"x")
    assert bench.store.put("a", b"y") is Put.EXISTS


def test_a_hold_on_a_deaf_service_is_acknowledged(bench: Bench) -> None:
    """It takes the same key twice: then the hold is there, and not proved."""
    hold = Hold("operator-1", "gpu-1", "because", "ana", read_now().wall)
    assert place(bench.store, hold) == "proved"
    bench.proxy.always = DEAF
    assert place(bench.store, hold) == "acknowledged"


def test_a_portal_is_not_taken_for_the_store(bench: Bench) -> None:
    """It says 200 to all: that creates nothing, and is neither an object nor an empty listing."""
    bench.proxy.always = Fault(200, body="<html><p>Please log in</p></html>")
    acts: list[Callable[[], object]] = [
        lambda: bench.store.put("a", b"x"),
        lambda: bench.store.get("a"),
        lambda: list(bench.store.list("")),
    ]
    for act in acts:
        with pytest.raises(StoreError, match="something answered that is no S3 service"):
            act()
    assert bench.truth() == {}


def test_an_answer_about_other_bytes_is_no_success(bench: Bench) -> None:
    """The service says which checksum it keeps: it must be ours."""
    bench.proxy.always = Fault(200, headers={"ETag": "e", "x-amz-checksum-sha256": "AA"}, body="")
    with pytest.raises(StoreError, match="not those that were put"):
        bench.store.put("a", b"x")


def test_without_a_condition_the_answer_must_name_the_bytes(bench: Bench) -> None:
    """Neither checksum nor our MD5 as ETag: not acknowledged."""
    bench.faults(NO_CONDITION, Fault(200, headers={"ETag": '"other"'}, body=""))
    with pytest.raises(StoreError, match="does not say which bytes"):
        bench.store.put("a", b"x")


def test_a_silent_service_ends_with_the_deadline(bench: Bench) -> None:
    """In real time: a call of half a second takes no longer, whatever the timeouts of its sockets are."""
    bench.store._patience = Patience()
    bench.proxy.always = Fault(stall_s=30.0)
    with pytest.raises(StoreError, match=r"a: put: no answer within 0\.5 s"):
        bench.store._call("a: put", lambda client, _: client.list_buckets(), 0.5)


def test_nobody_there_is_said_at_once(moto_service: Service) -> None:
    """Refused connections and unknown names are not tried again, and the hint names the key to look at."""
    clock = Clock()
    for endpoint, said in (
        (f"http://127.0.0.1:{free_port()}", "connection refused (is the service up"),
        ("http://store.invalid", "its name is not known (DNS"),
    ):
        place = moto_service.place("control", endpoint)
        store = S3Store(moto_service.url(), place, clock.patience())
        with pytest.raises(StoreError) as error:
            store.get("a")
        assert said in str(error.value)
    assert clock.pauses == []


def test_the_condition_as_a_header_of_our_own(bench: Bench) -> None:
    """Whatever version of botocore there is: created once, then EXISTS, and the header is signed."""
    assert bench.store.put("a", b"x") is Put.CREATED
    assert bench.store.put("a", b"y") is Put.EXISTS
    for _, _, headers in bench.proxy.seen:
        assert headers["If-None-Match"] == "*"
        assert "if-none-match" in headers["Authorization"]
    bench.faults(NO_CONDITION)
    assert bench.store.put("b", b"x") is Put.ACKNOWLEDGED
    assert "If-None-Match" not in bench.proxy.seen[-1][2]


def test_a_put_is_plain_and_has_its_digests(bench: Bench, tmp_path: Path) -> None:
    """Length, MD5 and SHA-256, no trailer; the same for a file. Nothing but PUT is ever asked."""
    source = tmp_path / "file"
    source.write_bytes(b"body")
    bench.store.put("a", b"body")
    bench.store.put_file("b", source)
    for method, _, headers in bench.proxy.seen:
        assert method == "PUT"
        assert headers["Content-Length"] == "4"
        assert headers["Content-MD5"] == b64encode(hashlib.md5(b"body").digest()).decode()
        assert headers["x-amz-checksum-sha256"].startswith("Iw2D")
        assert headers["x-amz-meta-sha256"].startswith("230d83")
        assert not {"Transfer-Encoding", "Expect", "x-amz-trailer"} & set(headers)
        assert "aws-chunked" not in headers.get("Content-Encoding", "")


def test_a_vanished_source_is_an_error(bench: Bench, tmp_path: Path) -> None:
    """It is neither an empty object nor an answer, and nothing is asked."""
    with pytest.raises(StoreError, match="gone: No such file"):
        bench.store.put_file("a", tmp_path / "gone")
    assert bench.proxy.seen == []


def test_a_listing_that_does_not_end_is_an_error(bench: Bench) -> None:
    """The same page again and again is not half a listing."""
    page = "<ListBucketResult><IsTruncated>true</IsTruncated>{code}</ListBucketResult>"
    bench.proxy.always = Fault(200, body=page)
    with pytest.raises(StoreError, match="does not end its listing"):
        list(bench.store.list(""))
    bench.proxy.always = Fault(200, "<NextContinuationToken>x</NextContinuationToken>", body=page)
    with pytest.raises(StoreError, match="does not end its listing"):
        list(bench.store.list(""))


def test_a_folder_of_a_console_is_no_object(bench: Bench) -> None:
    """Names that end in a slash are left out, the part's own included."""
    put = bench.service.raw("control").put_object
    for name in ("", "b/"):
        put(Bucket="evals", Key=f"team-a/{bench.below}/{name}", Body=b"")
    bench.store.put("b/c", b"x")
    assert [item.key for item in bench.store.list("")] == ["b/c"]


def test_pages_are_joined(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listing of several pages is whole and in order."""
    for number in range(5):
        bench.store.put(f"k/{number}", b"x")
    client = bench.store._kept.client()
    real = client.list_objects_v2
    monkeypatch.setattr(client, "list_objects_v2", lambda **words: real(MaxKeys=2, **words))
    bench.proxy.seen.clear()
    assert [item.key for item in bench.store.list("k/")] == [f"k/{number}" for number in range(5)]
    assert len(bench.proxy.seen) == 3


def test_a_proxy_is_used(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one of the environment; the service is asked through it."""
    monkeypatch.setenv("HTTP_PROXY", bench.proxy.endpoint)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    store = S3Store(bench.service.url(bench.below), bench.service.place("control"))
    assert store.put("a", b"x") is Put.CREATED
    assert bench.proxy.seen[0][1].startswith(f"{bench.service.endpoint}/evals/team-a/")


def test_a_replaced_key_is_read_without_a_restart(bench: Bench) -> None:
    """After it was refused, and not more often than twice a minute."""
    keys = [AccessKeys("AKIAOLD", "old-secret"), bench.service.keys["control"]]
    asked: list[AccessKeys] = []

    def read() -> AccessKeys:
        asked.append(keys[min(len(asked), 1)])
        return asked[-1]

    clock = Clock()
    place = S3Place(bench.proxy.endpoint, "eu-north1", read)
    store = S3Store(bench.service.url(bench.below), place, clock.patience())
    for _ in range(2):
        with pytest.raises(StoreError, match="does not know this key"):
            store.put("a", b"x")
    assert len(asked) == 1
    clock.passed_s = 30.0
    with pytest.raises(StoreError):
        store.put("a", b"x")
    assert store.put("a", b"x") is Put.CREATED


def test_the_identity_of_the_machine_is_used_and_nothing_is_loaded_for_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a key of its own: what the metadata service gives, with its token."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    role = {
        "Code": "Success",
        "AccessKeyId": "ASIAROLE",
        "SecretAccessKey": "x",
        "Token": "tok-1",
        "Expiration": "2099-01-01T00:00:00Z",
    }
    body = json.dumps(role).replace("{", "{{").replace("}", "}}")
    with proxy_to("http://127.0.0.1:1") as metadata:
        metadata.faults += [Fault(200, body=text) for text in ("session", "role", body)]
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.endpoint)
        monkeypatch.delenv("AWS_EC2_METADATA_DISABLED", raising=False)
        store = S3Store(bench.service.url(bench.below), S3Place(bench.proxy.endpoint, "eu-north1"))
        loaded = set(sys.modules)
        bench.proxy.always = Fault(200, headers={"ETag": "e"}, body="")
        assert store.put("a", b"x") is Put.CREATED
    headers = bench.proxy.seen[0][2]
    assert "Credential=ASIAROLE/" in headers["Authorization"]
    assert headers["X-Amz-Security-Token"] == "tok-1"
    assert sorted(set(sys.modules) - loaded) == []


def test_a_machine_without_any_identity_says_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And what to do; nothing is asked of the service."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store = S3Store(bench.service.url(bench.below), S3Place(bench.proxy.endpoint, "eu-north1"))
    with pytest.raises(StoreError, match=r"put: no key: set \[store\] credential, or give this"):
        store.put("a", b"x")
    assert bench.proxy.seen == []


def test_no_text_and_no_log_has_a_secret(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the key's id nor its secret, whatever the service quotes."""
    caplog.set_level(logging.INFO)
    secrets = bench.service.keys["control"]
    quoted = f"AWSAccessKeyId {secrets.access_key_id} {secrets.secret_access_key}"
    for status in (400, 401, 403, 404, 409, 500, 501, 503):
        bench.clock.passed_s = 0.0
        bench.proxy.always = Fault(status, "Strange", message=quoted)
        with pytest.raises(StoreError) as error:
            bench.store.put("a", b"x")
        shown = f"{error.value!r} {error.value.__cause__!r} {caplog.text} {bench.store._kept!r}"
        assert secrets.access_key_id not in shown
        assert secrets.secret_access_key not in shown
    assert secrets.secret_access_key not in repr(secrets)


def test_many_threads_share_one_client(bench: Bench) -> None:
    """As the lanes of the restarter do: each has its own answer."""
    answers: dict[int, Put] = {}

    def put(number: int) -> None:
        answers[number] = bench.store.put(f"k/{number}", str(number).encode())

    together(put, 8)
    assert set(answers.values()) == {Put.CREATED}
    assert bench.truth() == {f"k/{number}": str(number).encode() for number in range(8)}


def together(act: Callable[[int], None], count: int) -> None:
    """At once."""
    threads = [threading.Thread(target=act, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
