"""The store in a bucket, against Ceph's radosgw, where it is installed: what services of some years ago do."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from s3_radosgw import radosgw, why_not
from s3_server import Service
from spoteval.clock import read_now
from spoteval.report.check import OK
from spoteval.report.check_store import probed
from spoteval.store.contract import Put, Store
from spoteval.store.s3 import S3Store
from store_contract import StoreContract

pytestmark = [
    pytest.mark.runs("a real service on loopback, started once for all of them"),
    pytest.mark.slow,
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One for all."""
    with radosgw(tmp_path_factory.mktemp("radosgw")) as one:
        yield one


class TestContract(StoreContract):
    """All of it, by a key that may do everything."""

    @pytest.fixture
    def store(self, service: Service) -> Store:
        """An empty part of the store."""
        return service.store("control", service.fresh("runs"))


def test_check_finds_it_create_only_and_digests_held(service: Service, tmp_path: Path) -> None:
    """412 to the second put; MD5 is enough to refuse what was damaged."""
    found = list(probed(service.store("publisher"), "gpu-1", tmp_path, read_now()))
    assert [(one.name, one.verdict) for one in found] == [("store", OK), ("digests", OK)]


def test_a_large_file_in_parts_is_whole(service: Service) -> None:
    """Begun, sent, made; thrown away where it is not wanted any more."""
    store: S3Store = service.store("publisher", service.fresh("runs"))
    sent = [b"a" * (5 << 20), b"the rest"]
    upload = store.large.begin("large", hashlib.sha256(b"".join(sent)).hexdigest())
    tags = [store.large.part("large", upload, n, data) for n, data in enumerate(sent, start=1)]
    assert store.large.complete("large", upload, tags) is Put.CREATED
    assert store.get("large") == b"".join(sent)
    other = store.large.begin("other", "0" * 64)
    store.large.part("other", other, 1, b"x")
    store.large.abort("other", other)
    assert [item.key for item in store.list("")] == ["large"]
