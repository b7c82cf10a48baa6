"""Stray parts of large files (failure 8, complaint 63): on real services, with a process that is really killed."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fault_proxy import Fault, Proxy, proxy_to
from follower_bucket import Bucket, bucket_guest
from publication.disk_cases import is_killed
from publication.judge import one_pass
from publication.proxy_cases import Killer
from s3_server import ADMIN, BUCKET, PREFIX, Service, client
from spoteval.publication.pull import pull
from spoteval.store.s3_parts import PART_BYTES
from spoteval_agents.publication_follower.journal import Journal

pytestmark = pytest.mark.runs("real services on loopback, and a child that is killed")
PAGES = Path(__file__).parent.parent / "docs" / "stores"
ABOVE = 20_000
"""Bytes: what is larger goes in parts, in these tests."""


@pytest.fixture(scope="module")
def proxy(seaweed_service: Service) -> Iterator[Proxy]:
    """To the service that also counts stray parts for whoever may ask."""
    with proxy_to(seaweed_service.endpoint) as one:
        yield one


@pytest.fixture
def bucket(
    tmp_path: Path, seaweed_service: Service, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> Bucket:
    """A guest of that service, whose large files are small."""
    bucket = bucket_guest(tmp_path / "guest", seaweed_service, proxy, monkeypatch)
    bucket.guest.config = replace(bucket.guest.config, multipart_above_bytes=ABOVE)
    return bucket


def strays(bucket: Bucket) -> list[str]:
    """Uploads of the run that nobody ended, as the owner of the bucket sees them."""
    raw = client(bucket.service.endpoint, ADMIN)
    found = raw.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])
    return [one["Key"] for one in found if f"/{bucket.run}/" in one["Key"]]


def parts_sent(bucket: Bucket) -> list[str]:
    """Numbers of the parts that went out, in order."""
    found = (re.search(r"partNumber=(\d+)", path) for _, path, _ in bucket.proxy.seen)
    return [match[1] for match in found if match]


@pytest.mark.parametrize("when", [1, 2])
def test_failure_08_kill_9_between_parts_leaves_no_stray(
    bucket: Bucket, tmp_path: Path, when: int
) -> None:
    """Killed once the service has a part: its id is in the journal, the next process ends it and sends all anew."""
    whole = bytes(range(256)) * (PART_BYTES // 128 + 40)
    bucket.guest.finish("1", {"large.bin": whole})
    killer = Killer()

    def strike() -> None:
        if str(when) in parts_sent(bucket):
            killer.strike()

    bucket.proxy.always = Fault(strike=strike)
    assert is_killed(lambda: one_pass(bucket.guest), killer.told)
    bucket.proxy.always = Fault()
    assert len(strays(bucket)) == 1
    journal = Journal(bucket.guest.disk.publication / "journal.jsonl", bucket.guest.store.url)
    assert [key.rpartition("/")[2] for key in journal.uploads] == ["large.bin"]
    bucket.guest.restart()
    bucket.passes(2)
    assert strays(bucket) == []
    assert pull(bucket.service.store("reader"), bucket.run, tmp_path / "out").verified
    assert (tmp_path / "out/episodes/1/1/large.bin").read_bytes() == whole


@pytest.mark.parametrize(("size", "parts"), [(ABOVE, 0), (ABOVE + 1, 1)])
def test_complaint_63_one_put_up_to_the_stated_size(bucket: Bucket, size: int, parts: int) -> None:
    """`multipart_above` is that size: at it nothing can be left half sent."""
    bucket.guest.finish("1", {"file.bin": b"x" * size})
    bucket.passes(2)
    assert len(parts_sent(bucket)) == parts
    assert "episodes/1/1/MANIFEST.json" in bucket.stored()
    assert strays(bucket) == []


def test_complaint_63_the_guests_own_key_gives_parts_back(moto_service: Service) -> None:
    """The policy of the page, pasted: who began an upload may end it, and none of another run's."""
    store = moto_service.store("publisher", "runs")
    upload = store.large.begin("p-63/large.bin", "0" * 64)
    store.large.part("p-63/large.bin", upload, 1, b"part")
    store.large.abort("p-63/large.bin", upload)
    raw = moto_service.raw("publisher")
    with pytest.raises(raw.exceptions.ClientError, match="AccessDenied"):
        raw.abort_multipart_upload(Bucket=BUCKET, Key="elsewhere/x", UploadId=upload)


@pytest.mark.parametrize("name", ["aws", "nebius", "minio-like"])
def test_complaint_63_the_rule_of_a_page_ends_strays_and_nothing_else(
    name: str, seaweed_service: Service
) -> None:
    """Pasted into a service and read back: it is about uploads below the prefix, and no object ever expires by it."""
    texts = re.findall(r"```json\n(.*?)```", (PAGES / f"{name}.md").read_text(), re.DOTALL)
    (rule,) = [found for text in texts if "Rules" in (found := json.loads(text))]
    raw: Any = client(seaweed_service.endpoint, ADMIN)
    raw.put_bucket_lifecycle_configuration(Bucket=BUCKET, LifecycleConfiguration=rule)
    (back,) = raw.get_bucket_lifecycle_configuration(Bucket=BUCKET)["Rules"]
    assert back["Status"] == "Enabled"
    assert 1 <= back["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"] <= 7
    assert f"{PREFIX}/".startswith(back["Filter"]["Prefix"])
    assert {"Expiration", "NoncurrentVersionExpiration", "Transitions"}.isdisjoint(rule["Rules"][0])


def test_complaint_63_google_and_r2_have_theirs() -> None:
    """In the words of their own tools, and nothing in them deletes."""
    (text,) = re.findall(r"```json\n(.*AbortIncomplete.*)\n```", (PAGES / "gcs.md").read_text())
    (rule,) = json.loads(text)["rule"]
    assert rule["action"] == {"type": "AbortIncompleteMultipartUpload"}
    assert rule["condition"]["age"] >= 1
    assert re.search(
        r"lifecycle add evals .*--abort-multipart-days 7", (PAGES / "r2.md").read_text()
    )
