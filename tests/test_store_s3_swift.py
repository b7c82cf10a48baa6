"""The store in a bucket, against Swift, where it is installed: earlier versions know no condition of a put."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from s3_server import Service
from s3_swift import swift, why_not
from spoteval.clock import read_now
from spoteval.report.check import OK
from spoteval.report.check_store import probed
from spoteval.store.contract import NotThere, Put
from spoteval.store.s3 import S3Store

pytestmark = [
    pytest.mark.runs("a real service on loopback, started once for all of them"),
    pytest.mark.slow,
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One for all."""
    with swift(tmp_path_factory.mktemp("swift")) as one:
        yield one


@pytest.fixture
def store(service: Service) -> S3Store:
    """An empty part of the store."""
    return service.store("publisher", service.fresh("runs"))


def test_a_put_is_create_only_or_acknowledged(store: S3Store) -> None:
    """Where it answers 501 to the condition, 200 without, and the ETag names our bytes; else nothing is put over."""
    first = store.put("a/one", b"one")
    second = store.put("a/one", b"two")
    if first is Put.CREATED:
        assert (second, store.get("a/one")) == (Put.EXISTS, b"one")
    else:
        assert (first, second) == (Put.ACKNOWLEDGED, Put.ACKNOWLEDGED)
        assert store.get("a/one") == b"two"
    assert [(item.key, item.size) for item in store.list("a/")] == [("a/one", 3)]
    with pytest.raises(NotThere):
        store.get("a/other")


def test_a_file_goes_likewise(store: S3Store, tmp_path: Path) -> None:
    """Read as a stream."""
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    assert store.put_file("file", tmp_path / "file").is_ours
    assert store.get("file") == b"x" * 100_000


def test_odd_keys_come_back(store: S3Store) -> None:
    """As the follower makes them: percent signs, equal signs, dots."""
    keys = ["a%2Fb", "c=d", "e.f", "g+h", "i~j"]
    for key in keys:
        store.put(key, key.encode())
    assert [item.key for item in store.list("")] == sorted(keys)
    assert all(store.get(key) == key.encode() for key in keys)


def test_check_says_whether_it_is_create_only(
    service: Service, store: S3Store, tmp_path: Path
) -> None:
    """By what a put says there; it holds a put to its digests either way."""
    is_create_only = store.put("probe", b"x") is Put.CREATED
    every = probed(service.store("publisher"), "gpu-1", tmp_path, read_now())
    found = {one.name: one.verdict for one in every}
    assert (found["store"] == OK) is is_create_only
    assert found["digests"] == OK


def test_a_large_file_in_parts_is_whole(store: S3Store) -> None:
    """Begun, sent, made; thrown away where it is not wanted any more."""
    sent = [b"a" * (5 << 20), b"the rest"]
    upload = store.large.begin("large", hashlib.sha256(b"".join(sent)).hexdigest())
    tags = [store.large.part("large", upload, n, data) for n, data in enumerate(sent, start=1)]
    assert store.large.complete("large", upload, tags).is_ours
    assert store.get("large") == b"".join(sent)
    other = store.large.begin("other", "0" * 64)
    store.large.part("other", other, 1, b"x")
    store.large.abort("other", other)
    assert [item.key for item in store.list("")] == ["large"]
