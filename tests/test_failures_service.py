"""Known failures of tools that publish, 5 to 21: what lies between them and the service."""

import json
import shutil
from collections.abc import Iterator, Mapping
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from fault_proxy import DEAF, SLOW_DOWN, Fault, Proxy, proxy_to
from follower_bucket import Bucket, bucket_guest
from s3_server import Service
from spoteval.clock import read_now
from spoteval.control import requests
from spoteval.control.epochs import Claimant, Forked, claim
from spoteval.control.requests import FINAL, Answer
from spoteval.paths import RunPaths
from spoteval.publication.keys import epoch_key
from spoteval.report.check import OK
from spoteval.report.check_store import put_check
from spoteval.store.contract import Put, StoreRefused
from spoteval.store.s3 import S3Store
from spoteval_agents.publication_follower.cycle import cycle
from spoteval_agents.publication_follower.memory import Memory

pytestmark = pytest.mark.runs("a real service on loopback, started once for all of them")
KEPT = ("content-length", "content-md5", "x-amz-checksum-sha256", "if-none-match")


@pytest.fixture(scope="module")
def proxy(moto_service: Service) -> Iterator[Proxy]:
    """One proxy for all."""
    with proxy_to(moto_service.endpoint) as one:
        yield one


@pytest.fixture
def bucket(
    tmp_path: Path, moto_service: Service, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> Bucket:
    """A guest with one finished episode, not yet published."""
    bucket = bucket_guest(tmp_path / "guest", moto_service, proxy, monkeypatch)
    bucket.guest.finish("1", {"log.txt": b"one", "deep/er.bin": bytes(300)})
    return bucket


def test_failure_06_a_key_that_may_only_put_is_enough(bucket: Bucket) -> None:
    """Epoch, episodes, growing files, records, interruption, final pass: nothing else is ever asked."""
    guest = bucket.guest
    guest.session = "s2"
    claim(guest.store, guest.paths, Claimant(bucket.run, "gpu-1", "s2"), guest.clock())
    bucket.passes(3)
    guest.log("events.jsonl", {"kind": "more"})
    (guest.paths.work / "intended.json").write_text('["1"]')
    guest.finish("2")
    requests.ask(guest.disk, FINAL, "shutdown-hook", 30.0, guest.clock())
    bucket.passes(2)
    assert {"episodes/1/1/MANIFEST.json", "episodes/2/1/MANIFEST.json"} <= set(bucket.stored())
    asked = bucket.asked()
    assert len(asked) > 8
    assert [item for item in asked if not bucket.is_allowed(*item)] == []


def test_failure_09_every_put_carries_length_and_digests(bucket: Bucket) -> None:
    """A weak service then has what it takes to refuse a body that was cut."""
    bucket.passes(2)
    puts = [
        {name.lower(): value for name, value in headers.items()}
        for method, _, headers in bucket.proxy.seen
        if method == "PUT"
    ]
    assert len(puts) >= 5
    for headers in puts:
        assert [name for name in KEPT if not headers.get(name)] == []
        assert "x-amz-trailer" not in headers
        assert headers.get("transfer-encoding", "") == ""


def test_failure_10_a_clock_that_is_off_is_named_and_corrected(bucket: Bucket) -> None:
    """20 minutes: refused as skewed once, signed anew by the service's own time, and said in one line."""
    theirs = read_now().wall + timedelta(minutes=20)
    skewed = Fault(403, "RequestTimeTooSkewed", {"Date": format_datetime(theirs, usegmt=True)})
    bucket.proxy.faults[:] = [skewed]
    bucket.passes(2)
    assert "episodes/1/1/MANIFEST.json" in bucket.stored()
    store: object = bucket.guest.store
    assert isinstance(store, S3Store)
    assert "clock is 1" in str(store.complaint)
    assert "slow" in str(store.complaint)


def test_failure_17_a_second_writer_loses_and_is_told(bucket: Bucket, tmp_path: Path) -> None:
    """Two machines go on from copies of one disk: the later claim of an epoch meets 412, and what is there stays."""
    guest = bucket.guest
    copy = RunPaths(tmp_path / "copy")
    shutil.copytree(guest.paths.root, copy.root)
    epoch = claim(guest.store, guest.paths, Claimant(bucket.run, "gpu-1", "s2"), guest.clock())
    with pytest.raises((Forked, StoreRefused)):
        claim(guest.store, copy, Claimant(bucket.run, "gpu-1", "s3"), guest.clock())
    there = bucket.service.store("reader").get(epoch_key(bucket.run, epoch))
    assert json.loads(there)["session"] == "s2"


def test_failure_18_a_service_that_ignores_the_condition_is_found(bucket: Bucket) -> None:
    """Only by trying: check puts twice, and does not say create-only of one that says 200 to both."""
    assert put_check(bucket.guest.store, "gpu-1").verdict == OK
    bucket.proxy.always = DEAF
    found = put_check(bucket.guest.store, "gpu-1")
    assert found.verdict != OK
    assert "create-only" in found.text


BREAKS_OTHERS: Mapping[str, Mapping[str, str]] = {
    "checksums as trailers": {"AWS_REQUEST_CHECKSUM_CALCULATION": "when_supported"},
    "retries of its own": {"AWS_RETRY_MODE": "adaptive", "AWS_MAX_ATTEMPTS": "50"},
    "a pager": {"AWS_PAGER": "less"},
    "a bundle that is not there": {"AWS_CA_BUNDLE": "/nowhere/ca.pem"},
    "another endpoint": {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9",
    },
    "another key": {"AWS_ACCESS_KEY_ID": "AKIAOTHER", "AWS_SECRET_ACCESS_KEY": "other"},
    "another region": {"AWS_REGION": "mars-1", "AWS_DEFAULT_REGION": "mars-1"},
    "addresses of another kind": {
        "AWS_USE_DUALSTACK_ENDPOINT": "true",
        "AWS_USE_FIPS_ENDPOINT": "true",
    },
    "a language without signs": {"LC_ALL": "C", "LANG": "C"},
}


@pytest.mark.parametrize("what", BREAKS_OTHERS)
def test_failure_19_the_environment_does_not_break_a_put(
    moto_service: Service, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Settings that break other clients, or lead them elsewhere: the host file goes before all of them."""
    for name, value in BREAKS_OTHERS[what].items():
        monkeypatch.setenv(name, value)
    proxy.faults.clear()
    proxy.always = Fault()
    proxy.seen.clear()
    below = moto_service.fresh("runs")
    store = S3Store(moto_service.url(below), moto_service.place("publisher", proxy.endpoint))
    assert store.put("ä b", b"x" * 2048) is Put.CREATED
    ((method, _, headers),) = proxy.seen
    sent = {name.lower() for name in headers}
    assert method == "PUT"
    assert {"x-amz-trailer", "transfer-encoding", "content-encoding"}.isdisjoint(sent)
    assert moto_service.store("reader", below).get("ä b") == b"x" * 2048


@pytest.mark.parametrize(
    ("variable", "value", "remedy"),
    [
        ("HTTP_PROXY", "http://127.0.0.1:9", "HTTPS_PROXY, HTTP_PROXY, NO_PROXY"),
        ("AWS_CA_BUNDLE", "/nowhere/ca.pem", "AWS_CA_BUNDLE"),
    ],
)
def test_failure_19_what_cannot_work_is_said_with_its_remedy(
    moto_service: Service, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, remedy: str
) -> None:
    """One real put of `check`: the line names the very variable."""
    monkeypatch.setenv(variable, value)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    is_tls = variable == "AWS_CA_BUNDLE"
    endpoint = moto_service.endpoint.replace("http:", "https:") if is_tls else moto_service.endpoint
    try:
        store = S3Store(moto_service.url(), moto_service.place("publisher", endpoint))
        said = put_check(store, "gpu-1").text
    except ValueError as error:
        said = str(error)
    assert remedy in said
    assert "\n" not in said


@pytest.mark.parametrize("count", [1, 4])
def test_failure_20_requests_are_counted_not_only_their_effect(bucket: Bucket, count: int) -> None:
    """A pass costs files and manifests, and what is always there: an update that asks more is seen here."""
    bucket.passes(3)
    bucket.asked()
    for number in range(count):
        bucket.guest.finish(f"new-{number}", {"a": b"1", "b": b"22"})
    bucket.passes()
    news = [path for _, path in bucket.asked()]
    assert len([path for path in news if "/episodes/" in path]) == count * (3 + 1)
    assert len(news) <= count * (3 + 1) + 4
    bucket.passes(5)
    assert bucket.asked() == []


@pytest.mark.parametrize("answered", [0, 6, 14])
def test_failure_21_a_final_pass_ends_at_its_deadline_and_leaves_a_list(
    bucket: Bucket, answered: int
) -> None:
    """A store that stalls after some requests: the answer comes in time and says what is left; then all comes there.

    What is counted as published is there, whole, and nothing that is there is counted as left.
    """
    guest = bucket.guest
    for number in range(2, 6):
        guest.finish(str(number))
    bucket.proxy.faults[:] = [Fault()] * answered
    bucket.proxy.always = Fault(stall_s=30.0)
    guest.clock = read_now  # type: ignore[assignment]  # a stall takes real time
    asked = requests.ask(guest.disk, FINAL, "shutdown-hook", 2.0, guest.clock())
    cycle(guest.world, guest.memory)
    answer = requests.answer(guest.disk, asked)
    assert isinstance(answer, Answer)
    assert answer.took_s <= 2.0
    assert answer.published + answer.left == 5
    assert answer.left <= answer.backlog
    there = published(bucket)
    assert len(there) == answer.published
    bucket.proxy.always = Fault()
    bucket.proxy.released.set()
    guest.memory = Memory()
    for _ in range(3):
        guest.memory.due_s = 0.0
        cycle(guest.world, guest.memory)
    assert published(bucket) == ["1", "2", "3", "4", "5"]
    lines = [str(line["episode"]) for line in guest.witness()]
    assert sorted(lines) == ["1", "2", "3", "4", "5"]


def published(bucket: Bucket) -> list[str]:
    """Episodes whose manifest is in the bucket."""
    keys = bucket.stored("episodes/")
    return sorted(key.split("/")[1] for key in keys if key.endswith("MANIFEST.json"))


def test_failure_05_an_idle_pass_sends_nothing_at_all(bucket: Bucket) -> None:
    """On the wire: heartbeats apart, nothing in twenty passes."""
    bucket.passes(4)
    bucket.asked()
    bucket.passes(20)
    assert bucket.asked() == []


def test_failure_06_busy_is_no_refusal(bucket: Bucket) -> None:
    """503 to the first puts of a put-only key: tried again, without a look whether it is there."""
    bucket.proxy.faults[:] = [SLOW_DOWN, SLOW_DOWN]
    bucket.passes(2)
    assert "episodes/1/1/MANIFEST.json" in bucket.stored()
    assert {method for method, _ in bucket.asked()} == {"PUT"}
